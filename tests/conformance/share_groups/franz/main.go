// Members of a share group with franz-go. Each takes a few records at a time: it keeps every fifth longer than its lock
// would last, releases every seventh the first time, rejects every eleventh and accepts the rest. What became of each
// record, and how often it had been delivered, is a line of the output: "accepted 12 1".
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var printing sync.Mutex

func tell(what string, record *kgo.Record) {
	printing.Lock()
	defer printing.Unlock()
	fmt.Println(what, string(record.Value), record.DeliveryCount())
}

func work(ctx context.Context, bootstrap, topic, group string) {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(bootstrap), kgo.ShareGroup(group), kgo.ConsumeTopics(topic),
		kgo.ShareMaxRecords(20), kgo.ShareMaxRecordsStrict(),
		kgo.ShareAckCallback(func(_ *kgo.Client, results kgo.ShareAckResults) {
			for _, each := range results {
				if each.Err != nil {
					fmt.Fprintln(os.Stderr, "not acknowledged:", each.Err)
				}
			}
		}),
	)
	if err != nil {
		panic(err)
	}
	defer client.Close()
	for ctx.Err() == nil {
		for _, record := range client.PollFetches(ctx).Records() {
			number, err := strconv.Atoi(string(record.Value))
			if err != nil {
				panic(err)
			}
			switch {
			case number%11 == 0:
				tell("rejected", record)
				record.Ack(kgo.AckReject)
			case number%7 == 0 && record.DeliveryCount() == 1:
				tell("released", record)
				record.Ack(kgo.AckRelease)
			default:
				if number%5 == 0 {
					record.Ack(kgo.AckRenew)
				}
				tell("accepted", record)
				record.Ack(kgo.AckAccept)
			}
		}
		flushing, done := context.WithTimeout(context.Background(), 30*time.Second)
		if err := client.FlushAcks(flushing); err != nil {
			fmt.Fprintln(os.Stderr, "not flushed:", err)
		}
		done()
	}
}

// Bootstrap servers, topic, group, and how many members; they go when their input ends.
func main() {
	members, err := strconv.Atoi(os.Args[4])
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for range members {
		working.Add(1)
		go func() {
			defer working.Done()
			work(ctx, os.Args[1], os.Args[2], os.Args[3])
		}()
	}
	one := make([]byte, 1)
	for {
		if _, err := os.Stdin.Read(one); err != nil {
			break
		}
	}
	stop()
	working.Wait()
}
