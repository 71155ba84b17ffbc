import { countOf } from "../shell/amounts.ts";
import { connectAlerting, type UpstreamRun } from "./connect.ts";
import { formatLooseTable } from "./loose-table.ts";

/** `tocsin upstream tokens`. */
export async function listTokens(run: UpstreamRun, query: { chain: string; address?: string[] }): Promise<void> {
  const { signal } = run.context;
  const tokens = await (await connectAlerting(run)).listTokens(
    { chainId: query.chain, addresses: query.address },
    { signal },
  );
  await showList(run, tokens, "token");
}

/** `tocsin upstream users`. */
export async function listUsers(run: UpstreamRun, query: { id?: string[] }): Promise<void> {
  const users = await (await connectAlerting(run)).listUsers({ ids: query.id }, { signal: run.context.signal });
  await showList(run, users, "user");
}

/** `tocsin upstream subscriptions`. */
export async function listSubscriptions(run: UpstreamRun, query: { user?: string[] }): Promise<void> {
  const { signal } = run.context;
  const subscriptions = await (await connectAlerting(run)).listSubscriptions({ userIds: query.user }, { signal });
  await showList(run, subscriptions, "subscription");
}

async function showList({ output }: UpstreamRun, items: object[], noun: string): Promise<void> {
  await output.result(items, () => formatLooseTable(items, output));
  if (!output.json) await output.note(countOf(items.length, noun));
}
