import { countOf } from "../../ground/text/count-of.ts";
import type { Metric } from "../../upstream/alerting-client.ts";
import type { Page, WalkEnd } from "../../upstream/page-walk.ts";
import { type AccountRun, connectAlerting } from "./connect.ts";
import { createLooseTable } from "./panels.ts";
import type { MetricsOptions } from "./upstream.ts";

/** With `--all` every page, in the memory of one page. */
export async function listMetrics(run: AccountRun, options: MetricsOptions): Promise<void> {
  const { chain: chainId, token: tokenAddresses, pool: poolAddresses, key: keys, page: firstPage } = options;
  const { context, output } = run;
  const client = await connectAlerting(run);
  const query = { chainId, tokenAddresses, poolAddresses, keys };
  const pages = client.walkMetrics(query, { signal: context.signal, firstPage });
  if (options.all) return printAll(run, pages);
  const first = await pages.next();
  const { number: page, items } = first.done ? { number: firstPage ?? 1, items: [] } : first.value;
  await output.result(items, () => createLooseTable(output)(items), { page });
  if (!output.json) await output.note(`page ${page}: ${countOf(items.length, "metric")}; --all reads every page`);
}

/** Prints pages as they come. The first page sets columns and widths for all. */
async function printAll({ output }: AccountRun, pages: AsyncGenerator<Page<Metric>, WalkEnd>): Promise<void> {
  const draw = createLooseTable(output);
  const count = { pages: 0, metrics: 0 };
  await output.list(async (write) => {
    for (;;) {
      const next = await pages.next();
      if (next.done) {
        const read = `${countOf(count.metrics, "metric")} on ${countOf(count.pages, "page")}`;
        await output.note(`${read}${endWords[next.value]}`);
        return { ...count, end: next.value };
      }
      const { items, number } = next.value;
      await write(items, () => draw(items));
      count.pages += 1;
      count.metrics += items.length;
      await output.progress.update(`page ${number}: ${countOf(count.metrics, "metric")} so far`);
    }
  });
}

const endWords: Record<WalkEnd, string> = {
  empty: "",
  repeated: "; the service then repeated a page, taken as the end",
  refused: "; the service refused the next page, taken as the end",
  limit: "; stopped there, since the service gives pages without end",
};
