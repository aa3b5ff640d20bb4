import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.util.JsonFormat;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.serde.jsonschema.JsonSchemaKafkaDeserializer;
import io.apicurio.registry.serde.protobuf.ProtobufSchemaParser;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Deserializer;
import org.apache.kafka.common.serialization.StringDeserializer;

/** Reads topics with Apicurio's deserializers. Prints a line of JSON per record: topic, key, headers, value. */
class ReadByRegistry {
  /** Apicurio's Protobuf deserializer needs a class that protoc has generated. This one makes do with the schema. */
  public static class AnyProtobuf implements Deserializer<DynamicMessage> {
    private final Map<Integer, DynamicMessage> messages = new HashMap<>();
    private String url;

    @Override
    public void configure(Map<String, ?> settings, boolean isKey) {
      url = (String) settings.get("registry");
    }

    @Override
    public DynamicMessage deserialize(String topic, byte[] bytes) {
      var value = ByteBuffer.wrap(bytes);
      if (value.get() != 0) throw new IllegalArgumentException("isn't in the wire format");
      var message = messages.computeIfAbsent(value.getInt(), this::messageOf);
      if (value.get() != 0) throw new IllegalArgumentException("isn't the first message of its file");
      try {
        return message.newBuilderForType().mergeFrom(bytes, value.position(), value.remaining()).build();
      } catch (Exception error) {
        throw new IllegalArgumentException(error);
      }
    }

    private DynamicMessage messageOf(int id) {
      try {
        var request = HttpRequest.newBuilder(URI.create(url + "/schemas/ids/" + id)).build();
        var answer = HttpClient.newHttpClient().send(request, BodyHandlers.ofString()).body();
        var text = new ObjectMapper().readTree(answer).get("schema").asText();
        var schema = new ProtobufSchemaParser<>().parseSchema(text.getBytes(StandardCharsets.UTF_8), Map.of());
        return DynamicMessage.getDefaultInstance(schema.getFileDescriptor().getMessageTypes().get(0));
      } catch (Exception error) {
        throw new IllegalArgumentException(error);
      }
    }
  }

  public static void main(String[] args) throws Exception {
    var json = new ObjectMapper();
    var protobuf = JsonFormat.printer().preservingProtoFieldNames().alwaysPrintFieldsWithNoPresence().omittingInsignificantWhitespace();
    Class<?> decoder =
        switch (args[2]) {
          case "avro" -> AvroKafkaDeserializer.class;
          case "json-schema" -> JsonSchemaKafkaDeserializer.class;
          default -> AnyProtobuf.class;
        };
    Map<String, Object> settings =
        Map.of(
            "bootstrap.servers", args[1],
            "isolation.level", "read_committed",
            "key.deserializer", StringDeserializer.class,
            "value.deserializer", decoder,
            "registry", args[0],
            "apicurio.registry.url", args[0].replace("/ccompat/v7", "/registry/v3"));
    try (var consumer = new KafkaConsumer<String, Object>(settings)) {
      for (int i = 3; i < args.length; i += 1) {
        var topic = args[i];
        var partitions = consumer.partitionsFor(topic).stream().map(one -> new TopicPartition(topic, one.partition())).toList();
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        var ends = consumer.endOffsets(partitions);
        while (partitions.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
          for (var record : consumer.poll(Duration.ofSeconds(1))) {
            var headers = new TreeMap<String, String>();
            for (var header : record.headers()) headers.put(header.key(), new String(header.value(), StandardCharsets.UTF_8));
            var value =
                switch (args[2]) {
                  case "avro" -> record.value().toString();
                  case "json-schema" -> json.writeValueAsString(record.value());
                  default -> protobuf.print((DynamicMessage) record.value());
                };
            var told = json.writeValueAsString(Map.of("topic", topic, "key", record.key(), "headers", headers));
            System.out.println(told.substring(0, told.length() - 1) + ",\"value\":" + value + "}");
          }
        }
      }
    }
    System.exit(0);
  }
}
