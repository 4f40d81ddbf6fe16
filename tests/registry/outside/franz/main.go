// Franz-go's client of schema registries: registers, frames, reads back, and says what went wrong.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"os"

	"github.com/twmb/franz-go/pkg/sr"
)

type order struct {
	ID int `json:"id"`
}

func main() {
	ctx := context.Background()
	client, err := sr.NewClient(sr.URLs(os.Args[1]))
	must(err)
	text := `{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"],"additionalProperties":false}`
	made, err := client.CreateSchema(ctx, "franz-value", sr.Schema{Schema: text, Type: sr.TypeJSON})
	must(err)
	var serde sr.Serde
	serde.Register(made.ID, order{}, sr.EncodeFn(func(v any) ([]byte, error) { return json.Marshal(v) }),
		sr.DecodeFn(func(b []byte, v any) error { return json.Unmarshal(b, v) }))
	var back order
	must(serde.Decode(serde.MustEncode(order{7}), &back))
	same, err := client.SchemaByID(ctx, made.ID)
	must(err)
	found, err := client.LookupSchema(ctx, "franz-value", sr.Schema{Schema: text, Type: sr.TypeJSON})
	must(err)
	level := client.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatFull}, "franz-value")
	must(level[0].Err)
	checked, err := client.CheckCompatibility(ctx, "franz-value", -1, sr.Schema{Schema: `{"type":"string"}`, Type: sr.TypeJSON})
	must(err)
	_, err = client.CreateSchema(ctx, "franz-value", sr.Schema{Schema: `{"type":"string"}`, Type: sr.TypeJSON})
	var refused *sr.ResponseError
	if back.ID != 7 || same.Schema != text || found.Version != 1 || checked.Is || !errors.As(err, &refused) || refused.ErrorCode != 40901 {
		log.Fatalf("not as it should be: %v %v %v %v %v", back, same, found, checked, err)
	}
	_, err = client.DeleteSubject(ctx, "franz-value", sr.SoftDelete)
	must(err)
	_, err = client.DeleteSubject(ctx, "franz-value", sr.HardDelete)
	must(err)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
