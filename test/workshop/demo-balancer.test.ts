import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it, onTestFinished } from "vitest";
import { type Balancer, openBalancer } from "../../workshop/demo/balancer.ts";
import { waitUntil } from "../support/relay-process.ts";

interface FakeRelay {
  port: number;
  isReady: boolean;
  /** `POST /hooks/one` and the like, without looks at `/readyz`. */
  asked: string[];
  end(): void;
}

/** Answers its name, unless the test has another answer. */
async function startRelay(name: string, answerAs?: RequestListener): Promise<FakeRelay> {
  const server: Server = createServer((request, response) => {
    if (request.url === "/readyz") return void response.writeHead(relay.isReady ? 200 : 503).end();
    relay.asked.push(`${request.method} ${request.url}`);
    if (answerAs !== undefined) return answerAs(request, response);
    response.setHeader("x-forwarded", String(request.headers["x-forwarded-for"]));
    request.resume().on("end", () => response.end(name));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const relay: FakeRelay = {
    port: (server.address() as AddressInfo).port,
    isReady: true,
    asked: [],
    end() {
      server.close();
      server.closeAllConnections();
    },
  };
  onTestFinished(relay.end);
  return relay;
}

async function balance(relays: Record<string, FakeRelay>): Promise<Balancer & { url: string }> {
  const balancer = await openBalancer(0);
  onTestFinished(balancer.close);
  for (const [name, { port }] of Object.entries(relays)) balancer.put({ name, port, pid: 1 });
  const ready = Object.entries(relays).filter(([, { isReady }]) => isReady);
  await waitUntil(balancer.ready, (names) => names.length === ready.length, { what: "that relays are ready" });
  return { ...balancer, url: `http://127.0.0.1:${balancer.port}` };
}

const post = (url: string, body = "x") => fetch(`${url}/hooks/one`, { method: "POST", body });

it("spreads requests over the relays, and says which one served each, and for whom", async () => {
  const { url } = await balance({ "relay 1": await startRelay("one"), "relay 2": await startRelay("two") });
  const forged = { headers: { "x-forwarded-for": "203.0.113.9" } };
  const answers = [await fetch(url, forged), await fetch(url), await fetch(url), await fetch(url)];
  const texts = await Promise.all(answers.map((answer) => answer.text()));
  expect([...texts].sort()).toEqual(["one", "one", "two", "two"]);
  for (const [index, name] of texts.entries()) {
    const servedBy = `relay ${name === "one" ? 1 : 2} (process 1)`;
    expect(answers[index]?.headers.get("x-served-by")).toBe(servedBy);
    expect(answers[index]?.headers.get("x-forwarded")).toBe("127.0.0.1");
  }
});

it("gives the request of a relay that has just ended to another one, since it has reached nobody", async () => {
  const [gone, left] = [await startRelay("gone"), await startRelay("left")];
  const { url } = await balance({ gone, left });
  gone.end();
  for (let count = 0; count < 4; count += 1) expect(await (await post(url)).text()).toBe("left");
});

it("sends nothing again that was sent: nobody knows what became of it", async () => {
  const breaks: RequestListener = (request) => request.socket.destroy();
  const relays = { one: await startRelay("one", breaks), two: await startRelay("two", breaks) };
  const { url } = await balance(relays);
  const answer = await post(url);
  expect(answer.status).toBe(502);
  expect(await answer.json()).toMatchObject({ error: { message: expect.stringContaining("nobody knows") } });
  expect([...relays.one.asked, ...relays.two.asked]).toEqual(["POST /hooks/one"]);
});

it("gives nothing to a relay that is not ready, while another one is", async () => {
  const [one, two] = [await startRelay("one"), await startRelay("two")];
  const balancer = await balance({ one, two });
  one.isReady = false;
  await waitUntil(balancer.ready, (names) => names.length === 1, { what: "that one is taken out" });
  for (let count = 0; count < 4; count += 1) expect(await (await fetch(balancer.url)).text()).toBe("two");
  two.isReady = false;
  await waitUntil(balancer.ready, (names) => names.length === 0, { what: "that both are taken out" });
  // One without its database may still take alerts into its spool.
  expect((await post(balancer.url)).status).toBe(200);
  balancer.remove("one");
  balancer.remove("two");
  const refused = await post(balancer.url);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
});

it("passes an event stream on as it comes, and ends it when whoever reads it has gone", async () => {
  let ended = false;
  const streams: RequestListener = (request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("event: hello\n\n");
    request.on("close", () => {
      ended = true;
    });
  };
  const { port } = await balance({ one: await startRelay("one", streams) });
  const asked = request({ port, host: "127.0.0.1", path: "/api/stream" });
  asked.on("error", () => {});
  const [answer] = (await once(asked.end(), "response")) as [IncomingMessage];
  const [chunk] = await once(answer, "data");
  expect(String(chunk)).toBe("event: hello\n\n");
  answer.on("error", () => {});
  asked.destroy();
  await waitUntil(
    () => ended,
    (is) => is,
    { what: "the end of the stream at its relay" },
  );
});

it("says in a line when its port is taken", async () => {
  const { port } = await startRelay("one");
  await expect(openBalancer(port)).rejects.toMatchObject({
    code: "config_invalid",
    message: expect.stringContaining("another process listens there"),
  });
});

it("passes large bodies on whole, in both directions", async () => {
  const echo: RequestListener = (request, response) => void request.pipe(response);
  const { url } = await balance({ one: await startRelay("one", echo) });
  const body = "0123456789".repeat(100_000);
  const answer = await fetch(url, { method: "POST", body: new Blob([body]).stream(), duplex: "half" } as RequestInit);
  expect((await text(answer.body as never)) === body).toBe(true);
});
