// franz-go writes a record and reads it again, and says who it is as its arguments tell it. franz.py starts it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const deadline = 20 * time.Second

var (
	bootstrap   = flag.String("bootstrap", "", "where")
	topic       = flag.String("topic", "", "to write to and to read")
	mechanism   = flag.String("mechanism", "", "of SASL")
	user        = flag.String("user", "", "or the id of a delegation token")
	password    = flag.String("password", "", "or what proves the token, or a signed token")
	isToken     = flag.Bool("token", false, "whether it is a delegation token")
	ca          = flag.String("ca", "", "whom to trust, as PEM")
	certificate = flag.String("certificate", "", "to show, as PEM")
	key         = flag.String("key", "", "of the certificate")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	options, err := wayIn()
	if err != nil {
		return err
	}
	options = append(options, kgo.SeedBrokers(*bootstrap), kgo.AllowAutoTopicCreation(), kgo.ConsumeTopics(*topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.UnknownTopicRetries(-1))
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: *topic, Value: []byte("fg")}).FirstErr(); err != nil {
		return err
	}
	found := client.PollFetches(ctx)
	if err := found.Err(); err != nil {
		return err
	}
	fmt.Println(string(found.Records()[0].Value))
	return nil
}

func wayIn() ([]kgo.Opt, error) {
	var options []kgo.Opt
	switch *mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: *user, Pass: *password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(proof().AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(proof().AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: *password}.AsMechanism()))
	}
	if *ca == "" {
		return options, nil
	}
	settings, err := encrypting()
	return append(options, kgo.DialTLSConfig(settings)), err
}

func proof() scram.Auth {
	return scram.Auth{User: *user, Pass: *password, IsToken: *isToken}
}

func encrypting() (*tls.Config, error) {
	text, err := os.ReadFile(*ca)
	if err != nil {
		return nil, err
	}
	settings := &tls.Config{RootCAs: x509.NewCertPool()}
	settings.RootCAs.AppendCertsFromPEM(text)
	if *certificate != "" {
		pair, err := tls.LoadX509KeyPair(*certificate, *key)
		settings.Certificates = []tls.Certificate{pair}
		return settings, err
	}
	return settings, nil
}
