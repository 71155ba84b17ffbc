import { createSocket } from "node:dgram";
import { createServer } from "node:net";

let tries = 0;

/**
 * A free port that stays free while nobody listens on it, as between two processes or behind the last: it lies below those
 * that the system gives to `listen(0)` and to the near ends of connections, and until this process ends no other test's
 * process is given it.
 */
export async function findLastingPort(): Promise<number> {
  for (;;) {
    tries += 1;
    // Above 10,080, the highest port that `fetch` and browsers refuse.
    const port = 10_100 + ((process.pid * 211 + tries) % 22_000);
    if ((await takesSign(port)) && (await isFree(port))) return port;
  }
}

/** The port of UDP of the same number is the sign by which other processes know that it is taken. */
function takesSign(port: number): Promise<boolean> {
  const sign = createSocket("udp4").unref();
  return new Promise((resolve) => {
    sign.once("error", () => {
      sign.close();
      resolve(false);
    });
    sign.bind(port, "127.0.0.1", () => resolve(true));
  });
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  const listens = await new Promise<boolean>((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => resolve(true));
  });
  if (listens) await new Promise((resolve) => server.close(resolve));
  return listens;
}
