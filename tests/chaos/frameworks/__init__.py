"""What is built upon transactions, exactly once on three nodes while processes die: Kafka Streams, Connect, and Kafka's
own copier."""
