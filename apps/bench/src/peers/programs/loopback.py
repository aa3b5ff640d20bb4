"""Redirects the session of tweepy, which supports only https, to a server on this machine."""

import requests


class Loopback(requests.adapters.HTTPAdapter):
    def __init__(self, origin):
        super().__init__()
        self.origin = origin

    def send(self, request, *args, **kwargs):
        request.url = request.url.replace("https://api.twitter.com", self.origin, 1)
        # Ignores a proxy of the environment, because the server is on this machine.
        return super().send(request, *args, **{**kwargs, "proxies": {}})


def over_loopback(api, origin):
    api.session.mount("https://", Loopback(origin))
    return api
