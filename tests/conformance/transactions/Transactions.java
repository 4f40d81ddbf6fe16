import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka's own clients, told what to do line by line; `outside.py` says what the lines are. */
public class Transactions {
    private static final Map<String, KafkaProducer<String, String>> WRITERS = new HashMap<>();
    private static final Map<String, KafkaConsumer<String, String>> READERS = new HashMap<>();
    private static final Map<String, String> BOOTSTRAPS = new HashMap<>();
    private static final Duration DEADLINE = Duration.ofSeconds(30);

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(System.out, true, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(answer(line.split("\t", -1)).replace('\n', ' '));
        }
        System.exit(0);
    }

    private static String answer(String[] words) {
        try {
            List<String> found = carryOut(words);
            return found.isEmpty() ? "ok" : "ok\t" + String.join("\t", found);
        } catch (ExecutionException failure) {
            return "refused\t" + failure.getCause();
        } catch (Exception failure) {
            return "refused\t" + failure;
        }
    }

    private static List<String> carryOut(String[] words) throws Exception {
        String name = words[1];
        switch (words[0]) {
            case "writer" -> writer(name, words[2], words[3], words[4]);
            case "reader" -> {
                READERS.put(name, consumer(words[2], null));
                READERS.get(name).assign(List.of(new TopicPartition(words[3], 0)));
            }
            case "begin" -> WRITERS.get(name).beginTransaction();
            case "send" -> WRITERS.get(name).send(new ProducerRecord<>(words[2], words[3])).get();
            case "queue" -> WRITERS.get(name).send(
                new ProducerRecord<>(words[2], Integer.parseInt(words[3]), null, words[4]));
            case "offset" -> WRITERS.get(name).sendOffsetsToTransaction(
                Map.of(new TopicPartition(words[3], Integer.parseInt(words[4])),
                    new OffsetAndMetadata(Long.parseLong(words[5]))),
                new ConsumerGroupMetadata(words[2]));
            case "copy" -> copy(name, words[2], words[3], words[4], Integer.parseInt(words[5]));
            case "commit" -> WRITERS.get(name).commitTransaction();
            case "abort" -> WRITERS.get(name).abortTransaction();
            case "poll" -> {
                return poll(READERS.get(name), Duration.ofMillis(Long.parseLong(words[2]))).stream()
                    .map(ConsumerRecord::value).collect(Collectors.toList());
            }
            case "close" -> close(name);
            default -> throw new IllegalArgumentException(words[0]);
        }
        return List.of();
    }

    private static void writer(String name, String bootstrap, String transactionalId, String timeoutMs) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", bootstrap, "transactional.id", transactionalId, "transaction.timeout.ms", timeoutMs,
            "delivery.timeout.ms", "30000", "request.timeout.ms", "5000", "max.block.ms", "30000", "linger.ms", "0");
        var made = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        WRITERS.put(name, made);
        BOOTSTRAPS.put(name, bootstrap);
        made.initTransactions();
    }

    private static void copy(String name, String source, String target, String group, int count) throws Exception {
        KafkaProducer<String, String> writer = WRITERS.get(name);
        try (KafkaConsumer<String, String> consumer = consumer(BOOTSTRAPS.get(name), group)) {
            consumer.subscribe(List.of(source));
            long end = System.nanoTime() + DEADLINE.toNanos();
            for (int seen = 0; seen < count;) {
                if (System.nanoTime() > end) {
                    throw new IllegalStateException(seen + " of " + count + " records came");
                }
                for (ConsumerRecord<String, String> record : poll(consumer, Duration.ofMillis(200))) {
                    writer.send(new ProducerRecord<>(target, record.value()));
                    seen++;
                }
            }
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (TopicPartition place : consumer.assignment()) {
                offsets.put(place, new OffsetAndMetadata(consumer.position(place)));
            }
            writer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
        }
    }

    private static KafkaConsumer<String, String> consumer(String bootstrap, String group) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", bootstrap, "isolation.level", "read_committed", "auto.offset.reset", "earliest",
            "enable.auto.commit", "false", "fetch.max.wait.ms", "50"));
        if (group != null) {
            settings.put("group.id", group);
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    private static List<ConsumerRecord<String, String>> poll(KafkaConsumer<String, String> from, Duration atMost) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        from.poll(atMost).forEach(found::add);
        return found;
    }

    private static void close(String name) {
        if (WRITERS.containsKey(name)) {
            WRITERS.remove(name).close(Duration.ofSeconds(5));
        } else {
            READERS.remove(name).close();
        }
    }
}
