import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import kafka.server.ConfigHelper;
import kafka.server.KafkaConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResourceResult;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.QuotaConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Kafka's own settings, for the tests to compare ours with. Each line of the input is a question whose words are
 * separated by tabs; answers are lines too, and come when all questions up to a line "done" have been read.
 */
public class SettingsOracle {
    private static final Map<String, ConfigDef> DEFINITIONS = Map.of(
        "broker", AbstractKafkaConfig.CONFIG_DEF,
        "quota", QuotaConfig.brokerQuotaConfigs(),
        "topic", LogConfig.configDefCopy(),
        "group", GroupConfig.CONFIG_DEF);

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(System.out, false, StandardCharsets.UTF_8));
        var out = new StringBuilder();
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t", -1);
            switch (words[0]) {
                case "done" -> {
                    System.out.print(out.append("done\n"));
                    System.out.flush();
                    out.setLength(0);
                }
                case "keys" -> keys(words[1], out);
                case "parse" -> out.append(parse(words[1], words[2], words[3])).append('\n');
                case "topic" -> out.append(validateTopic(Arrays.copyOfRange(words, 1, words.length))).append('\n');
                case "properties" -> out.append(properties(words[1])).append('\n');
                case "describe" -> describe(Integer.parseInt(words[1]), Arrays.copyOfRange(words, 2, words.length), out);
                default -> throw new IllegalArgumentException(line);
            }
        }
    }

    private static void keys(String scope, StringBuilder out) {
        Map<String, String> modes = DynamicBrokerConfig.dynamicConfigUpdateModes();
        for (ConfigDef.ConfigKey key : new TreeMap<>(DEFINITIONS.get(scope).configKeys()).values()) {
            Object value = key.defaultValue;
            String text = value == ConfigDef.NO_DEFAULT_VALUE ? "<required>"
                : value == null ? "<null>" : ConfigDef.convertToString(value, key.type);
            out.append(String.join("\t", key.name, key.type.name(), text, key.importance.name(),
                modes.getOrDefault(key.name, "read-only"), String.valueOf(key.internalConfig), synonyms(scope, key.name)));
            out.append('\n');
        }
        out.append("end\n");
    }

    private static String synonyms(String scope, String name) {
        if (scope.equals("group")) return GroupConfig.brokerSynonym(name).map(synonym -> synonym + "*1").orElse("");
        if (!scope.equals("topic")) return "";
        return ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(name, List.of()).stream()
            .map(synonym -> synonym.name() + "*" + synonym.converter().apply("1")).collect(Collectors.joining(","));
    }

    private static String parse(String scope, String name, String text) {
        ConfigDef.ConfigKey key = DEFINITIONS.get(scope).configKeys().get(name);
        try {
            Object value = new ConfigDef().define(key).parse(Map.of(name, text)).get(name);
            return "ok\t" + ConfigDef.convertToString(value, key.type);
        } catch (Exception error) {
            return "error\t" + error.getMessage();
        }
    }

    private static String validateTopic(String[] pairs) {
        Properties broker = new Properties();
        broker.putAll(Map.of("node.id", "1", "process.roles", "broker,controller", "controller.listener.names", "C",
            "listeners", "PLAINTEXT://:9092,C://:9093", "controller.quorum.voters", "1@localhost:9093"));
        try {
            LogConfig.validate(Map.of(), map(pairs), new KafkaConfig(broker, false).extractLogConfigMap(), false);
            return "ok";
        } catch (Exception error) {
            return "error\t" + error.getMessage();
        }
    }

    private static Map<String, String> map(String[] pairs) {
        Map<String, String> map = new TreeMap<>();
        for (String pair : pairs) {
            int equals = pair.indexOf('=');
            if (equals >= 0) map.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        return map;
    }

    /** The text comes, and names and values go, as hexadecimal UTF-16 units, so that any character can be asked for. */
    private static String properties(String hexadecimal) throws Exception {
        Properties found = new Properties();
        try {
            found.load(new java.io.StringReader(fromHexadecimal(hexadecimal)));
        } catch (IllegalArgumentException error) {
            return "error\t" + error.getMessage();
        }
        return new TreeMap<>(found).entrySet().stream()
            .map(entry -> toHexadecimal((String) entry.getKey()) + "=" + toHexadecimal((String) entry.getValue()))
            .collect(Collectors.joining("\t", "ok\t", ""));
    }

    private static String fromHexadecimal(String text) {
        var out = new StringBuilder();
        for (int i = 0; i + 4 <= text.length(); i += 4) out.append((char) Integer.parseInt(text.substring(i, i + 4), 16));
        return out.toString();
    }

    private static String toHexadecimal(String text) {
        return text.chars().mapToObj(unit -> String.format("%04x", unit)).collect(Collectors.joining());
    }

    /** What a broker with the first {@code count} pairs in its file says of itself and of a topic with the others. */
    private static void describe(int count, String[] pairs, StringBuilder out) throws Exception {
        Properties file = new Properties();
        file.putAll(map(Arrays.copyOf(pairs, count)));
        Properties topic = new Properties();
        topic.putAll(map(Arrays.copyOfRange(pairs, count, pairs.length)));
        var config = new KafkaConfig(file, false);
        var helper = new ConfigHelper(null, config, null);
        var logConfig = LogConfig.fromProps(config.extractLogConfigMap(), topic);
        for (Map.Entry<String, ?> entry : new TreeMap<>(logConfig.nonInternalValues()).entrySet())
            describeOne("topic", helper.createTopicConfigEntry(
                logConfig, topic, true, false, entry.getKey(), entry.getValue()), out);
        Method broker = Arrays.stream(ConfigHelper.class.getDeclaredMethods())
            .filter(method -> method.getName().endsWith("createBrokerConfigEntry")).findFirst().orElseThrow();
        broker.setAccessible(true);
        for (Map.Entry<String, ?> entry : new TreeMap<>(config.nonInternalValues()).entrySet())
            describeOne("broker", (DescribeConfigsResourceResult) broker.invoke(
                helper, true, true, false, entry.getKey(), entry.getValue()), out);
        out.append("end\n");
    }

    private static void describeOne(String scope, DescribeConfigsResourceResult result, StringBuilder out) {
        String synonyms = result.synonyms().stream()
            .map(synonym -> synonym.name() + "=" + synonym.value() + "@" + synonym.source())
            .collect(Collectors.joining("\t"));
        out.append(String.join("\t", scope, result.name(), String.valueOf(result.value()),
            String.valueOf(result.configSource()), String.valueOf(result.readOnly()),
            String.valueOf(result.isSensitive()), String.valueOf(result.configType()), synonyms)).append('\n');
    }
}
