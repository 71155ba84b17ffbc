/** The end of a request that is the last of its connection. */
export const ending = "Connection: close\r\n\r\n";

/**
 * What each program sends for the checks in its documents, with the path that docs/several-relays.md names where one is written.
 * HAProxy: `option httpchk`, `http-check send`. nginx: `health_check` of NGINX Plus, and `proxy_pass` of a location. Caddy: `health_uri`, `health_headers`.
 * Kubernetes: `httpGet`.
 */
export const probesAsDocumented: Readonly<Record<string, readonly string[]>> = {
  "HAProxy, option httpchk without a path": ["OPTIONS / HTTP/1.0\r\n\r\n"],
  "HAProxy, option httpchk with a path": ["OPTIONS /readyz?alerts HTTP/1.0\r\n\r\n"],
  "HAProxy, option httpchk with a method": [
    "GET /readyz?alerts HTTP/1.0\r\n\r\n",
    "HEAD /readyz?alerts HTTP/1.0\r\n\r\n",
  ],
  "HAProxy, http-check send": [
    `GET /readyz?alerts HTTP/1.1\r\nhost: alerts.example.com\r\nuser-agent: haproxy-checks\r\n${ending}`,
    `GET /readyz?alerts HTTP/1.1\r\n${ending}`,
  ],
  "nginx, health_check uri": [`GET /readyz?alerts HTTP/1.0\r\nHost: tocsin_relays\r\n${ending}`],
  "Caddy, health_uri": [
    `GET /readyz?alerts HTTP/1.1\r\nHost: relay-1:8080\r\nUser-Agent: Go-http-client/1.1\r\nAccept-Encoding: gzip\r\n${ending}`,
    `GET /readyz?alerts HTTP/1.1\r\nHost: alerts.example.com\r\nUser-Agent: Go-http-client/1.1\r\n${ending}`,
  ],
  "Kubernetes, httpGet": [
    `GET /healthz HTTP/1.1\r\nHost: 10.1.2.3:8080\r\nUser-Agent: kube-probe/1.31\r\nAccept: */*\r\n${ending}`,
    `GET /readyz?alerts HTTP/1.1\r\nHost: [fd00::7]:8080\r\nUser-Agent: kube-probe/1.31\r\nAccept: */*\r\n${ending}`,
  ],
};
