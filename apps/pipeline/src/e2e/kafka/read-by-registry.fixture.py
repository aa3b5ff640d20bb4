"""Reads topics with the deserializers of confluent-kafka. Prints a line of JSON per record: topic, key, headers, value."""
import importlib, json, os, subprocess, sys, tempfile
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.schema_registry.json_schema import JSONDeserializer
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf.descriptor import FieldDescriptor

registry_url, brokers, form, *topics = sys.argv[1:]
registry = SchemaRegistryClient({"url": registry_url})


def message_of(topic):
    """The class of the first message of the topic's .proto file, made by protoc."""
    text = registry.get_latest_version(f"{topic}-value").schema.schema_str
    folder = tempfile.mkdtemp()
    name = topic.replace(".", "_").replace("-", "_")
    with open(os.path.join(folder, f"{name}.proto"), "w") as file:
        file.write(text)
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{folder}", f"--python_out={folder}", f"{name}.proto"], check=True)
    sys.path.insert(0, folder)
    module = importlib.import_module(f"{name}_pb2")
    return getattr(module, list(module.DESCRIPTOR.message_types_by_name)[0])


def plain(message):
    """The members of a message that are there, as Python has them."""
    found = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            found[field.name] = [plain(one) if field.message_type else one for one in value]
        elif not field.has_presence or message.HasField(field.name):
            found[field.name] = plain(value) if field.message_type else value
    return found


for topic in topics:
    if form == "avro":
        decode = AvroDeserializer(registry)
    elif form == "json-schema":
        decode = JSONDeserializer(registry.get_latest_version(f"{topic}-value").schema.schema_str, schema_registry_client=registry)
    else:
        # Without a registry: it would request a binary form of the schema, which Apicurio doesn't have.
        proto = ProtobufDeserializer(message_of(topic), {"use.deprecated.format": False})
        decode = lambda value, context: plain(proto(value, context))
    consumer = Consumer({"bootstrap.servers": brokers, "group.id": "my-python", "isolation.level": "read_committed", "enable.partition.eof": True})
    partitions = list(consumer.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
    left = len(partitions)
    while left > 0:
        message = consumer.poll(30)
        if message is None:
            sys.exit(f"no record of {topic} within 30 s")
        if message.error():
            left -= 1
            continue
        value = decode(message.value(), SerializationContext(topic, MessageField.VALUE))
        headers = {name: text.decode() for name, text in message.headers() or []}
        print(json.dumps({"topic": topic, "key": message.key().decode(), "headers": headers, "value": value}))
    consumer.close()
