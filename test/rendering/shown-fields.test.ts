import { describe, expect, it } from "vitest";
import { chooseFields } from "../../src/rendering/shown-fields.ts";
import { makeAlert } from "./sample.ts";

function namesOf(fields: Record<string, string>, facts = {}, said = ""): string[] {
  const list = Object.entries(fields).map(([name, value]) => ({ name, value }));
  return chooseFields(makeAlert({ facts: { fields: list, ...facts } }).facts, said).fields.map(({ name }) => name);
}

describe("the fields of a message", () => {
  it("are those that tell a reader something", () => {
    const fields = {
      subscriptionId: "sub_1",
      metricName: "pool TVL",
      condition: "below",
      "essentials.schemaId": "x",
      updatedAt: "2026-11-21T13:58:00Z",
      seenOn: "1795219200000",
      AlarmArn: "arn:aws:x",
      Severity: "P1",
      event_type: "alert",
      generatorURL: "https://grafana.example/x",
      graph: "https://grafana.example/y",
      runbook_url: "https://runbooks.example/tvl",
      owner: "treasury",
      paid: "12",
    };
    expect(namesOf(fields)).toEqual(["runbook_url", "owner", "paid"]);
  });

  it("leave out the address of what the first line names", () => {
    const address = "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48";
    const fields = { "metric.token.address": address, contract: address, wallet: address.replace("a0b8", "ffff") };
    expect(namesOf(fields, { metric: `eth_token_total_tvl_${address}` })).toEqual(["wallet"]);
  });

  it("count those that only the raw body has among the others", () => {
    const fields = Array.from({ length: 40 }, (_, index) => ({ name: `note${index}`, value: `text ${index}` }));
    const { facts } = makeAlert({ facts: { fields, unlistedFields: 160 } });
    expect(chooseFields(facts, "").more).toBe(194);
  });

  it("say nothing that stands above them", () => {
    expect(namesOf({ pool: "USDC/WETH", amount: "7" }, { value: "7" }, "usdc/weth price")).toEqual([]);
  });

  it("are few, and the rest is counted", () => {
    const fields = Array.from({ length: 40 }, (_, at) => ({ name: `part${at}`, value: `v${at}` }));
    const chosen = chooseFields(makeAlert({ facts: { fields } }).facts, "");
    expect([chosen.fields.length, chosen.more]).toEqual([6, 34]);
  });
});
