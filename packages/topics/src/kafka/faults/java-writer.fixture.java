import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes numbered transactions with Kafka's own producer until the input ends. Each writes a record to two partitions. Prints each number that was
 * acknowledged. The number of a failed transaction isn't used again.
 */
class JavaWriter {
  static volatile boolean isOver = false;

  /** Arguments: the brokers, and one name for the topic, the client and its transactional ID. */
  public static void main(String[] args) throws Exception {
    Thread listener = new Thread(() -> {
      try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in))) {
        while (input.readLine() != null);
      } catch (java.io.IOException error) {
        // The input has ended in this case, too.
      }
      isOver = true;
    });
    listener.setDaemon(true);
    listener.start();
    String topic = args[1];
    Properties settings = new Properties();
    settings.put("bootstrap.servers", args[0]);
    settings.put("transactional.id", args[1]);
    settings.put("client.id", args[1]);
    settings.put("key.serializer", StringSerializer.class);
    settings.put("value.serializer", StringSerializer.class);
    settings.put("max.block.ms", "300000");
    KafkaProducer<String, String> producer = null;
    for (long number = 0; !isOver; number += 1) {
      try {
        if (producer == null) {
          producer = new KafkaProducer<>(settings);
          patiently(producer::initTransactions);
        }
        producer.beginTransaction();
        Future<RecordMetadata> first = producer.send(new ProducerRecord<>(topic, 0, "page", String.valueOf(number)));
        Future<RecordMetadata> second = producer.send(new ProducerRecord<>(topic, 1, "page", String.valueOf(number)));
        first.get();
        second.get();
        patiently(producer::commitTransaction);
        System.out.println(number);
      } catch (KafkaException | java.util.concurrent.ExecutionException error) {
        System.err.println(number + ": " + error);
        try {
          patiently(producer::abortTransaction);
        } catch (KafkaException fatal) {
          System.err.println(number + ": " + fatal);
          producer.close(Duration.ZERO);
          producer = null;
        }
      }
    }
    if (producer != null) producer.close();
  }

  /** Repeats a request after a timeout, as the documentation of Kafka's producer recommends. */
  static void patiently(Runnable request) {
    for (;;) {
      try {
        request.run();
        return;
      } catch (TimeoutException late) {
        System.err.println(late);
      }
    }
  }
}
