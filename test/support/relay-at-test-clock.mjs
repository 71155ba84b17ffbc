/**
 * The whole built relay in a process of its own, at a clock that is stopped until a test moves it: what takes hours by the clock
 * takes seconds. Time limits of calls are real. Configured by the environment as `serve` is; besides, `CLOCK_AT` is where the
 * clock begins (epoch milliseconds), `CLOCK_MODULE` is the compiled test-clock.ts, and the file `clock` in `DATA_DIR` holds the
 * address that moves it: `POST ?advance=MS` or `?set=MS`, answered when all that this has woken has had its turn.
 */
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { config, sayUrl, startBuiltRelay } from "./built-relay.mjs";

const { createTestClock } = await import(process.env.CLOCK_MODULE);
const clock = createTestClock(Number(process.env.CLOCK_AT));
const relay = await startBuiltRelay({ clock });

/** What was woken asks the database, which answers in turn. */
async function settle() {
  for (let turn = 0; turn < 3; turn += 1) {
    await clock.settle();
    await relay.store.health();
  }
}

/**
 * Routing and calls take their real time, and their limits are by the clock: while they are under way it goes on no faster
 * than time does. It has to go on, as what was claimed may wait for its turn by the clock.
 */
async function untilNothingIsUnderWay() {
  const isSending = async () => (await relay.operations.destinations()).some(({ counts }) => (counts.sending ?? 0) > 0);
  const isRouting = async () => (await relay.store.health()).unrouted > 0;
  while ((await isRouting()) || (await isSending())) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(5);
  }
}

/** In steps in which everybody who looks now and then gets to look. */
async function advance(ms) {
  for (let left = ms; left > 0; left -= stepMs) {
    await clock.advance(Math.min(stepMs, left));
    await settle();
    await untilNothingIsUnderWay();
  }
}

const stepMs = 10_000;
const control = createServer(async (request, response) => {
  const { searchParams } = new URL(request.url ?? "/", "http://localhost");
  const [set, ms] = ["set", "advance"].map((name) => searchParams.get(name));
  if (set) await clock.set(Number(set));
  if (ms) await advance(Number(ms));
  response.end(String(clock.now()));
});
control.listen(0, "127.0.0.1", () => {
  writeFileSync(join(config.dataDir ?? process.cwd(), "clock"), `http://127.0.0.1:${control.address().port}/`);
  sayUrl(relay);
});
process.once("SIGTERM", async () => {
  control.close();
  const stopping = relay.stop();
  // Those who wait at its clock wait for no signal at times.
  const moving = setInterval(() => void clock.advance(1_000), 10);
  await stopping;
  clearInterval(moving);
});
