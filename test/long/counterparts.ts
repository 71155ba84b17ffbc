/**
 * Tocsin with the programs that it meets in the wild, as Debian ships them: `npm run test:long -- counterparts`, or with the names
 * of some (`-- counterparts mail`). Alerts are counted one by one. It takes about ten minutes and the user root, who also gets
 * what is missing installed.
 */
import { inScope } from "../relays/scope.ts";
import { tryAlertmanager } from "./counterparts/alertmanager.ts";
import { tryBalancers } from "./counterparts/balancers.ts";
import { findMissing } from "./counterparts/install.ts";
import { tryMail } from "./counterparts/mail.ts";
import { tryPooler } from "./counterparts/pooler.ts";
import { createWorld, type Result } from "./counterparts/world.ts";

const counterparts = {
  balancers: { packages: ["haproxy", "nginx-light"], run: tryBalancers },
  pooler: { packages: ["pgbouncer"], run: tryPooler },
  mail: { packages: ["postfix", "postgrey"], run: tryMail },
  alertmanager: { packages: ["prometheus", "prometheus-alertmanager"], run: tryAlertmanager },
};
type Name = keyof typeof counterparts;

/** @param args names of counterparts. Default: all. */
export async function run(args: readonly string[]): Promise<boolean> {
  const names = Object.keys(counterparts) as Name[];
  const unknown = args.filter((name) => !names.includes(name as Name));
  if (unknown.length > 0) throw new Error(`There is no counterpart ${unknown.join()}. There are: ${names.join(", ")}.`);
  const wanted = args.length === 0 ? names : names.filter((name) => args.includes(name));
  const missing = findMissing(wanted.flatMap((name) => counterparts[name].packages));
  if (missing !== undefined) {
    console.log(missing);
    return false;
  }
  const results: Result[] = [];
  for (const name of wanted) results.push(...(await inScope((scope) => counterparts[name].run(createWorld(scope)))));
  console.table(
    results.map(({ faults, ...counts }) => ({ ...counts, verdict: faults.length === 0 ? "held" : faults.join("; ") })),
  );
  return results.every(({ faults }) => faults.length === 0);
}
