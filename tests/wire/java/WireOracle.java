import com.fasterxml.jackson.databind.JsonNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;

/**
 * Passes messages through Kafka's own codecs. Each line in is "name version hex"; each line out is the message encoded
 * again, the same after a detour over JSON, and that JSON. A message that Kafka refuses gives "refused", twice, and why.
 */
public class WireOracle {
    private static final String[] PACKAGES = {
        "org.apache.kafka.common.message.",
        "org.apache.kafka.common.metadata.",
        "org.apache.kafka.coordinator.group.generated.",
        "org.apache.kafka.coordinator.share.generated.",
        "org.apache.kafka.coordinator.transaction.generated.",
        "org.apache.kafka.raft.generated.",
        "org.apache.kafka.server.log.remote.metadata.storage.generated.",
    };

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ", -1);
            out.println(answer(words[0], Short.parseShort(words[1]), HexFormat.of().parseHex(words[2])));
        }
        out.flush();
    }

    private static String answer(String name, short version, byte[] data) throws Exception {
        Class<?> type = find(name);
        Class<?> converter = Class.forName(type.getName() + "JsonConverter");
        try {
            Message message = (Message) type.getDeclaredConstructor().newInstance();
            ByteBufferAccessor source = new ByteBufferAccessor(ByteBuffer.wrap(data));
            message.read(source, version);
            if (source.remaining() > 0) {
                return "refused refused stray bytes";
            }
            Method write = converter.getMethod("write", type, short.class);
            Method read = converter.getMethod("read", JsonNode.class, short.class);
            JsonNode json = (JsonNode) write.invoke(null, message, version);
            Message again = (Message) read.invoke(null, json, version);
            return encode(message, version) + " " + encode(again, version) + " " + json;
        } catch (InvocationTargetException problem) {
            return "refused refused " + problem.getCause();
        } catch (RuntimeException problem) {
            return "refused refused " + problem;
        }
    }

    private static String encode(Message message, short version) {
        ByteBuffer encoded = MessageUtil.toByteBufferAccessor(message, version).buffer();
        byte[] bytes = new byte[encoded.remaining()];
        encoded.get(bytes);
        return HexFormat.of().formatHex(bytes);
    }

    private static Class<?> find(String name) throws ClassNotFoundException {
        for (String prefix : PACKAGES) {
            for (String suffix : new String[] {"", "Data"}) {
                try {
                    return Class.forName(prefix + name + suffix);
                } catch (ClassNotFoundException next) {
                    continue;
                }
            }
        }
        throw new ClassNotFoundException(name);
    }
}
