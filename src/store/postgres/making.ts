import { newColumns, type RoutedDelivery, toRoutedRow } from "../transactions/routing.ts";
import { toArrays, typeNames } from "./tx.ts";

/** In the order of the parameters. */
const columns: [name: string, type: string][] = [
  ...newColumns.map(([name, kind]): [string, string] => [name, typeNames[kind]]),
  ["lease_ms", "bigint"],
];
const names = columns.map(([name]) => name);

const leased = "clock_timestamp() + d.lease_ms * interval '1 millisecond'";

/**
 * An INSERT of new deliveries, in their order, in so many parameters as `toParameters` gives, from `$first` on.
 * @param alertSeq what each of them belongs to, in SQL; the given rows are `d`
 * @param from in SQL, what comes beside `d` and decides which of them are made
 */
export const insertDeliveries = (first: number, alertSeq = "d.alert_seq", from = "") => `
  INSERT INTO deliveries (${names.map((name) => (name === "lease_ms" ? "lease_until" : name)).join(", ")})
  SELECT ${names.map((name) => (name === "lease_ms" ? leased : name === "alert_seq" ? alertSeq : `d.${name}`)).join(", ")}
  FROM unnest(${columns.map(([, type], index) => `$${first + index}::${type}[]`).join(", ")}) WITH ORDINALITY
    AS d (${names.join(", ")}, place) ${from}
  ORDER BY d.place`;

/** One array a column. */
export const toParameters = (deliveries: readonly RoutedDelivery[]): unknown[][] =>
  toArrays(names, deliveries.map(toRoutedRow));
