"""Who may do what: access rules as Kafka's standard authorizer understands them, and the requests that change them."""
