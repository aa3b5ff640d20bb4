"""Creates topics and reads what was written to them, without any code of Headgate.

make BROKERS TOPIC...    creates topics with one partition that accept a page as a record
clear BROKERS            deletes all topics
first BROKERS TOPIC N    prints "waiting", and then the arrivals of the first N committed records (epoch ms)
read BROKERS TOPIC       prints the number and the hashes of the committed records as a line of JSON
select FILE TOPIC        the same for an embedded log
"""

import hashlib
import json
import re
import sqlite3
import sys
import time

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

WITHIN_S = 120
AT_ONCE = 10_000
# The name of a crawl ends with the offset of its job, which differs between logs: Kafka also counts the markers of transactions.
JOB_OFFSET = re.compile(rb'(?<="crawl":"followers\.requests-0-)\d+')


def make(brokers, *topics):
    # The variable keeps the client alive until the topics exist.
    admin = AdminClient({"bootstrap.servers": brokers})
    settings = {"max.message.bytes": "8388608"}
    for future in admin.create_topics([NewTopic(topic, 1, 1, config=settings) for topic in topics]).values():
        future.result()


def clear(brokers):
    admin = AdminClient({"bootstrap.servers": brokers})
    topics = [topic for topic in admin.list_topics(timeout=10).topics if not topic.startswith("__")]
    for future in admin.delete_topics(topics).values() if topics else ():
        future.result()


def first(brokers, topic, count):
    reader = consumer(brokers, topic)
    waiting = False
    arrivals = []
    while len(arrivals) < int(count):
        message = reader.poll(WITHIN_S)
        if message is None:
            sys.exit(f"nothing came to {topic} within {WITHIN_S} s")
        if message.error() is None:
            arrivals.append(time.time() * 1000)
        # The reader reports the end again after each transaction marker.
        elif message.error().code() == KafkaError._PARTITION_EOF and not waiting:
            waiting = True
            print("waiting", flush=True)
    print(json.dumps(arrivals), flush=True)


def read(brokers, topic):
    tell(committed(brokers, topic))


def select(file, topic):
    query = "SELECT key, value FROM records WHERE topic = ? AND partition = 0 ORDER BY offset"
    rows = sqlite3.connect(f"file:{file}?mode=ro", uri=True).execute(query, (topic,))
    tell(iter(lambda: [(key.encode(), value.encode()) for key, value in rows.fetchmany(AT_ONCE)], []))


def consumer(brokers, topic):
    settings = {
        "bootstrap.servers": brokers,
        "group.id": "bench",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "max.partition.fetch.bytes": 16_000_000,
    }
    reader = Consumer(settings)
    reader.assign([TopicPartition(topic, 0, 0)])
    return reader


def committed(brokers, topic):
    """Yields all committed records up to the end of the topic."""
    reader = consumer(brokers, topic)
    moved_at = time.monotonic()
    while time.monotonic() < moved_at + WITHIN_S:
        messages = reader.consume(AT_ONCE, 1.0)
        if messages:
            moved_at = time.monotonic()
        yield [(message.key() or b"", message.value()) for message in messages if message.error() is None]
        errors = [message.error() for message in messages if message.error() is not None]
        if any(error.code() == KafkaError._PARTITION_EOF for error in errors):
            return
        if errors:
            sys.exit(f"{topic} can't be read: {errors[0]}")
    sys.exit(f"{topic} could not be read to its end: nothing came for {WITHIN_S} s")


def tell(many):
    """Prints the numbers and hashes of records and IDs. A record is a page, an ID with its page, or a bare ID. Offsets of jobs don't count."""
    records, count = 0, 0
    ids_hash, records_hash = hashlib.sha256(), hashlib.sha256()
    for pairs in many:
        records += len(pairs)
        records_hash.update(JOB_OFFSET.sub(b"", b"".join(b"%b\n%b\n" % pair for pair in pairs)))
        ids = []
        for content in json.loads(b"[%b]" % b",".join(value if value[:1] == b"{" else b'"%b"' % value for _, value in pairs)):
            if isinstance(content, str):
                ids.append(content)
            elif "ids" in content:
                ids += content["ids"]
            else:
                ids.append(content["id"])
        count += len(ids)
        ids_hash.update("".join(f"{one}\n" for one in ids).encode())
    print(json.dumps({"records": records, "ids": count, "idsDigest": ids_hash.hexdigest(), "digest": records_hash.hexdigest()}))


{"make": make, "clear": clear, "first": first, "read": read, "select": select}[sys.argv[1]](*sys.argv[2:])
