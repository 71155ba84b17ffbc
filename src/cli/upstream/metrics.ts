import type { AppError } from "../../core/errors.ts";
import type { MetricsQuery } from "../../upstream/alerting-client.ts";
import type { Metric } from "../../upstream/alerting-schemas.ts";
import type { Page, WalkEnd } from "../../upstream/page-walk.ts";
import { countOf } from "../shell/amounts.ts";
import { OutputClosed } from "../shell/context.ts";
import { asAppError } from "../shell/failure.ts";
import type { TableLayout } from "../shell/table.ts";
import { type AccountRun, connectAlerting } from "./connect.ts";
import { formatLooseTable, type LooseTable, layOutLooseTable } from "./loose-table.ts";
import type { MetricsOptions } from "./upstream.ts";

/** `tocsin upstream metrics`: one page, or with `--all` every page, in flat memory either way. */
export async function listMetrics(run: AccountRun, options: MetricsOptions): Promise<void> {
  const { chain: chainId, token, pool, key } = options;
  const client = await connectAlerting(run);
  const { signal } = run.context;
  const query: MetricsQuery = { chainId, tokenAddresses: token, poolAddresses: pool, keys: key };
  const pages = client.walkMetrics(query, { signal, firstPage: options.page });
  if (options.all) return printWalk(run, pages);
  const first = await pages.next();
  const { number: page, items: metrics } = first.done ? { number: options.page ?? 1, items: [] } : first.value;
  const { output } = run;
  await output.result(metrics, () => formatLooseTable(metrics, output), { page });
  if (!output.json) await output.note(`page ${page}: ${countOf(metrics.length, "metric")}; --all reads every page`);
}

async function printWalk(run: AccountRun, pages: AsyncGenerator<Page<Metric>, WalkEnd>): Promise<void> {
  const { output } = run;
  const writer = output.json ? openJsonWriter(run) : createTableWriter(run);
  const count = { pages: 0, metrics: 0 };
  try {
    for (;;) {
      const next = await pages.next();
      if (next.done) {
        await writer.close({ ...count, end: next.value });
        await output.note(
          `${countOf(count.metrics, "metric")} on ${countOf(count.pages, "page")}${endWords[next.value]}`,
        );
        return;
      }
      await writer.write(next.value.items);
      count.pages += 1;
      count.metrics += next.value.items.length;
      await output.progress.update(`page ${next.value.number}: ${countOf(count.metrics, "metric")} so far`);
    }
  } catch (thrown) {
    await output.progress.clear();
    if (thrown instanceof OutputClosed) throw thrown;
    throw await writer.fail(asAppError(thrown));
  }
}

/** Pages as they come; `fail` ends what was begun and returns what is to be thrown. */
interface PageWriter {
  write(metrics: Metric[]): Promise<void>;
  close(meta: Record<string, unknown>): Promise<void>;
  fail(error: AppError): Promise<Error>;
}

function openJsonWriter({ output }: AccountRun): PageWriter {
  const list = output.openList();
  return {
    ...list,
    write: async (metrics) => {
      for (const metric of metrics) await list.item(metric);
    },
  };
}

/** The first page settles columns and widths of all. */
function createTableWriter({ output }: AccountRun): PageWriter {
  let settled: { table: LooseTable; layout: TableLayout } | undefined;
  return {
    write: async (metrics) => {
      let head = "";
      if (settled === undefined) {
        const table = layOutLooseTable(metrics);
        const sample = metrics.map((metric) => table.toRow(metric));
        settled = { table, layout: output.layOutTable(table.columns, sample) };
        head = settled.layout.head();
      }
      const { table, layout } = settled;
      await output.print(head + layout.rows(metrics.map((metric) => table.toRow(metric))));
    },
    close: async () => {},
    fail: async (error) => error,
  };
}

const endWords: Record<WalkEnd, string> = {
  empty: "",
  repeated: "; the service then repeated a page, taken as the end",
  refused: "; the service refused the next page, taken as the end",
  limit: "; stopped there, since the service gives pages without end",
};
