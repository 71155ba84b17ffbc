import type { Scenario } from "../harness/bench.ts";
import { quantile } from "../harness/statistics.ts";

/** The stand-in for the market-data service keeps tens of thousands of metrics; what people try is to feel like the real one. */
export const sandbox: Scenario = {
  name: "sandbox",
  what: "a page of metrics of the sandbox at 50,000 metrics, beside the smallest answer that it gives",
  async run(bench) {
    const { createServiceSandbox } = await import("../../src/sandbox/service/service.ts");
    const service = await createServiceSandbox({
      now: Date.now,
      random: Math.random,
      metricCount: bench.quick ? 500 : 50_000,
      requestsPerMinute: 1_000_000,
    });
    const headers = { authorization: service.apiKey };
    const ask = async (path: string): Promise<unknown> => {
      const answer = await fetch(service.alertingUrl + path, { headers });
      if (!answer.ok) throw new Error(`${path} answered ${answer.status}`);
      return answer.json();
    };
    const time = async (paths: string[]) => {
      const times: number[] = [];
      for (let index = 0; index < (bench.quick ? 20 : 300); index += 1) {
        const startedAt = performance.now();
        await ask(paths[index % paths.length] ?? "");
        times.push(performance.now() - startedAt);
      }
      const sorted = Float64Array.from(times.slice(times.length / 5)).sort();
      return { p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
    };
    try {
      // WETH is the first token: half of all pools hold it, which makes it the worst filter there is.
      const { data } = (await ask("/metrics?chainId=eth&page=1")) as { data: { key: string; tokenAddress: string }[] };
      const metrics = "/metrics?chainId=eth&page=";
      const last = bench.quick ? 1 : 20;
      const pages = {
        "no filter": Array.from({ length: last }, (_, page) => `${metrics}${1 + page}`),
        "a token of half of the pools": [`${metrics}${last}&tokenAddresses=${data[0]?.tokenAddress}`],
        "100 keys": [`${metrics}1&keys=${data.map(({ key }) => key).join(",")}`],
      };
      for (const [name, paths] of Object.entries(pages)) {
        await bench.compare({
          title: `sandbox, a page of metrics, ${name}`,
          contenders: [
            { name: "Tocsin", run: () => time(paths) },
            { name: "its smallest answer", run: () => time(["/account"]) },
          ],
          figures: [
            { of: "p50", label: "p50", unit: "ms" },
            { of: "p99", label: "p99", unit: "ms" },
          ],
        });
      }
    } finally {
      await service.close();
    }
  },
};
