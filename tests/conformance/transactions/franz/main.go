// franz-go, told what to do line by line; outside.py says what the lines are.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const deadline = 30 * time.Second

type writer struct {
	bootstrap, transactionalID string
	timeout                    time.Duration
	client                     *kgo.Client
	// What a record that nobody waited for came to.
	failed chan error
	// A session is a consumer of a group and its transactional producer in one.
	session *kgo.GroupTransactSession
}

var (
	writers = map[string]*writer{}
	readers = map[string]*kgo.Client{}
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		found, err := carryOut(strings.Split(lines.Text(), "\t"))
		answer := strings.Join(append([]string{"ok"}, found...), "\t")
		if err != nil {
			answer = "refused\t" + err.Error()
		}
		fmt.Println(strings.ReplaceAll(answer, "\n", " "))
	}
}

func carryOut(words []string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	name := words[1]
	switch words[0] {
	case "writer":
		return nil, newWriter(ctx, name, words[2], words[3], words[4])
	case "reader":
		client, err := kgo.NewClient(append(reading(words[2]), kgo.ConsumeTopics(words[3]))...)
		readers[name] = client
		return nil, err
	case "begin":
		return nil, writers[name].client.BeginTransaction()
	case "send":
		return nil, writers[name].client.ProduceSync(ctx, &kgo.Record{Topic: words[2], Value: []byte(words[3])}).FirstErr()
	case "queue":
		partition, _ := strconv.Atoi(words[3])
		record := &kgo.Record{Topic: words[2], Partition: int32(partition), Value: []byte(words[4])}
		writers[name].queue(record)
		return nil, nil
	case "offset":
		partition, _ := strconv.Atoi(words[4])
		offset, _ := strconv.Atoi(words[5])
		return nil, writers[name].addOffset(ctx, words[2], words[3], int32(partition), int64(offset))
	case "copy":
		count, _ := strconv.Atoi(words[5])
		return nil, writers[name].copy(ctx, words[2], words[3], words[4], count)
	case "commit":
		return nil, writers[name].end(ctx, kgo.TryCommit)
	case "abort":
		return nil, writers[name].end(ctx, kgo.TryAbort)
	case "poll":
		atMost, _ := strconv.Atoi(words[2])
		return poll(readers[name], time.Duration(atMost)*time.Millisecond), nil
	case "close":
		if client, found := readers[name]; found {
			client.Close()
		} else {
			writers[name].client.Close()
		}
		return nil, nil
	}
	return nil, fmt.Errorf("unknown: %s", words[0])
}

func reading(bootstrap string) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(strings.Split(bootstrap, ",")...),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchMaxWait(50 * time.Millisecond),
	}
}

func newWriter(ctx context.Context, name, bootstrap, transactionalID, timeoutMs string) error {
	ms, _ := strconv.Atoi(timeoutMs)
	made := &writer{bootstrap, transactionalID, time.Duration(ms) * time.Millisecond, nil, make(chan error, 1), nil}
	client, err := kgo.NewClient(append(made.options(), kgo.SeedBrokers(strings.Split(bootstrap, ",")...))...)
	made.client = client
	writers[name] = made
	if err != nil {
		return err
	}
	// It would introduce itself with its first record only.
	_, _, err = client.ProducerID(ctx)
	return err
}

func (w *writer) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.TransactionalID(w.transactionalID),
		kgo.TransactionTimeout(w.timeout),
		kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
}

// copy goes on in a session under the same id, because only a session puts a group's offsets into a transaction. It is a
// member of the group until the transaction ends.
func (w *writer) copy(ctx context.Context, source, target, group string, count int) error {
	if err := w.end(ctx, kgo.TryAbort); err != nil {
		return err
	}
	options := append(append(reading(w.bootstrap), w.options()...),
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(source), kgo.RequireStableFetchOffsets())
	session, err := kgo.NewGroupTransactSession(options...)
	if err != nil {
		return err
	}
	w.session = session
	if err := session.Begin(); err != nil {
		return err
	}
	for seen := 0; seen < count; {
		fetches := session.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return err
		}
		for _, record := range fetches.Records() {
			if err := session.ProduceSync(ctx, &kgo.Record{Topic: target, Value: record.Value}).FirstErr(); err != nil {
				return err
			}
			seen++
		}
	}
	return nil
}

func (w *writer) queue(record *kgo.Record) {
	w.client.Produce(context.Background(), record, func(_ *kgo.Record, err error) {
		if err != nil {
			select {
			case w.failed <- err:
			default:
			}
		}
	})
}

// addOffset asks for what a session would, for somebody who is no member of the group.
func (w *writer) addOffset(ctx context.Context, group, topic string, partition int32, offset int64) error {
	id, epoch, err := w.client.ProducerID(ctx)
	if err != nil {
		return err
	}
	adding := kmsg.NewPtrAddOffsetsToTxnRequest()
	adding.TransactionalID, adding.ProducerID, adding.ProducerEpoch, adding.Group = w.transactionalID, id, epoch, group
	for {
		added, err := adding.RequestWith(ctx, w.client)
		if err == nil {
			err = kerr.ErrorForCode(added.ErrorCode)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		// The transaction before is still being ended.
		time.Sleep(20 * time.Millisecond)
	}
	place := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	place.Partition, place.Offset = partition, offset
	where := kmsg.NewTxnOffsetCommitRequestTopic()
	where.Topic, where.Partitions = topic, []kmsg.TxnOffsetCommitRequestTopicPartition{place}
	committing := kmsg.NewPtrTxnOffsetCommitRequest()
	committing.TransactionalID, committing.ProducerID, committing.ProducerEpoch = w.transactionalID, id, epoch
	committing.Group, committing.Topics = group, []kmsg.TxnOffsetCommitRequestTopic{where}
	committed, err := committing.RequestWith(ctx, w.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(committed.Topics[0].Partitions[0].ErrorCode)
}

func (w *writer) end(ctx context.Context, how kgo.TransactionEndTry) error {
	if w.session == nil {
		return w.endAlone(ctx, how)
	}
	committed, err := w.session.End(ctx, how)
	w.session.Close()
	w.session = nil
	if err == nil && committed != bool(how) {
		err = fmt.Errorf("the group has changed")
	}
	return err
}

func (w *writer) endAlone(ctx context.Context, how kgo.TransactionEndTry) error {
	if how == kgo.TryAbort {
		if err := w.client.AbortBufferedRecords(ctx); err != nil {
			return err
		}
	} else if err := w.client.Flush(ctx); err != nil {
		return err
	}
	select {
	case err := <-w.failed:
		if how == kgo.TryCommit {
			return err
		}
	default:
	}
	return w.client.EndTransaction(ctx, how)
}

func poll(client *kgo.Client, atMost time.Duration) []string {
	ctx, cancel := context.WithTimeout(context.Background(), atMost)
	defer cancel()
	var found []string
	for _, record := range client.PollFetches(ctx).Records() {
		found = append(found, string(record.Value))
	}
	return found
}
