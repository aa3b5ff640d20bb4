"""Writes followers into Kafka with tweepy and confluent-kafka (librdkafka). Produces them as they arrive, and flushes at the end."""

import json
import sys

import tweepy
from confluent_kafka import Producer
from loopback import over_loopback

job = json.loads(sys.argv[1])
api = over_loopback(tweepy.API(tweepy.OAuth2BearerHandler("token")), job["origin"])
producer = Producer(
    {
        "bootstrap.servers": ",".join(job["brokers"]),
        # Confluent recommends larger and later batches for throughput.
        "linger.ms": 50,
        "batch.size": 1_000_000,
    }
)


def check(error, _message):
    if error is not None:
        sys.exit(f"not delivered: {error}")


def produce(value, key=None):
    while True:
        try:
            return producer.produce(job["topic"], value, key, on_delivery=check)
        except BufferError:
            producer.poll(0.1)


pages = tweepy.Cursor(api.get_follower_ids, screen_name="alpha", count=5000, stringify_ids=True).pages()
for page, ids in enumerate(pages, 1):
    if job["shape"] == "pages":
        produce(json.dumps({"user": "alpha", "ids": ids}), "alpha")
    elif job["records"] == "other":
        for one in ids:
            produce(one)
    else:
        for one in ids:
            record = {"user": "@alpha", "crawl": "followers.requests-0-0", "page": page, "id": one}
            produce(json.dumps(record, separators=(",", ":")), "@alpha")
    producer.poll(0)
producer.flush()
