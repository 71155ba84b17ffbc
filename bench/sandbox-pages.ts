import { createServiceSandbox } from "../src/sandbox/service/service.ts";

/**
 * How long a page of metrics takes at 50,000 metrics, over HTTP on this machine, plain and with filters.
 * Its peer in the same run is the account, the smallest answer the same server gives.
 *
 *     npx tsx bench/sandbox-pages.ts
 */

const rounds = 500;
const warmUp = 100;

const sandbox = await createServiceSandbox({
  now: Date.now,
  random: Math.random,
  metricCount: 50_000,
  requestsPerMinute: 1_000_000,
});
const headers = { authorization: sandbox.apiKey };

async function timeOne(path: string): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(sandbox.alertingUrl + path, { headers });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`${path} answered ${response.status}`);
  return performance.now() - startedAt;
}

async function measure(name: string, pathOf: (round: number) => string): Promise<void> {
  for (let round = 0; round < warmUp; round += 1) await timeOne(pathOf(round));
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) times.push(await timeOne(pathOf(round)));
  times.sort((a, b) => a - b);
  const quantile = (part: number) => (times[Math.floor(times.length * part)] ?? Number.NaN).toFixed(2);
  console.log(`${name.padEnd(34)} p50 ${quantile(0.5).padStart(7)} ms   p99 ${quantile(0.99).padStart(7)} ms`);
}

const first = await fetch(`${sandbox.alertingUrl}/metrics?chainId=eth&page=1`, { headers });
const { data } = (await first.json()) as {
  data: { key: string; tokenAddress: string; quoteSymbol?: string }[];
};
// WETH is the first token: half of all pools hold it, which makes it the worst filter there is.
const [weth] = data;
const keys = data.map(({ key }) => key).join(",");

await measure("account (the peer)", () => "/account");
await measure("page, no filter", (round) => `/metrics?chainId=eth&page=${1 + (round % 180)}`);
await measure(
  "page, token of half of the pools",
  () => `/metrics?chainId=eth&page=20&tokenAddresses=${weth?.tokenAddress}`,
);
await measure("page, 100 keys", () => `/metrics?chainId=eth&page=1&keys=${keys}`);
await sandbox.close();
