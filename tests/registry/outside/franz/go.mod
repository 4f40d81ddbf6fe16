module penstock/registry

go 1.26.0

require github.com/twmb/franz-go/pkg/sr v1.8.0
