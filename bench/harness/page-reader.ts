import { quantile } from "./statistics.ts";

/** Milliseconds for each address, again and again until the time is over. For an event stream: until its first byte. */
export async function readPages({ urls, cookie, ms }: { urls: string[]; cookie: string; ms: number }) {
  const times: number[] = [];
  const until = performance.now() + ms;
  for (let index = 0; performance.now() < until || times.length < urls.length; index += 1) {
    const url = urls[index % urls.length] ?? "";
    const startedAt = performance.now();
    const answer = await fetch(url, { headers: { cookie }, redirect: "manual", signal: AbortSignal.timeout(30_000) });
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    const reader = answer.body?.getReader();
    const isStream = answer.headers.get("content-type")?.startsWith("text/event-stream");
    for (let part = await reader?.read(); part?.done === false && !isStream; part = await reader?.read());
    times.push(performance.now() - startedAt);
    await reader?.cancel();
  }
  return { p50: quantile(times, 0.5), p95: quantile(times, 0.95) };
}
