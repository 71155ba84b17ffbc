import type { Column, Panel } from "../../contract/panels/panel.ts";
import { maskWebhookUrl } from "../../ground/net/shown-address.ts";
import type { Account } from "../../upstream/alerting-schemas.ts";
import type { EquityPrice, PoolState, Ticker } from "../../upstream/pricing-schemas.ts";
import { formatNumber, formatPrice, formatUsd } from "./number-text.ts";

/** Who holds a hook's address can send alerts, so it is shown only when that is asked for. */
export function showAccount(account: Account, { showSecrets }: { showSecrets?: boolean }) {
  const { alertOutputs, apiKeyExpiresAt: at } = account;
  const { webhookUrl } = alertOutputs;
  const isMasked = webhookUrl !== null && !showSecrets;
  return {
    ...account,
    alertOutputs: isMasked ? { ...alertOutputs, webhookUrl: maskWebhookUrl(webhookUrl) } : alertOutputs,
    apiKeyExpiresAt: at === undefined ? undefined : new Date(at).toISOString(),
  };
}

type ShownAccount = ReturnType<typeof showAccount>;

export function accountPanel(account: ShownAccount, message = "accepted"): Panel {
  const { apiKeyExpiresAt: at, apiKeyExpirationTimestamp: given } = account;
  const unread = given === undefined || given === null ? "not given" : `cannot be read: ${JSON.stringify(given)}`;
  return [
    {
      kind: "facts",
      rows: [
        ["Key", message],
        ["Key expires", at === undefined ? unread : { at: Date.parse(at) }],
        ["Account", account.accountName ?? ""],
        ["Account id", account.id],
        ...outputRows(account.alertOutputs),
        ["Created", account.createdAt ?? ""],
        ["Updated", account.updatedAt ?? ""],
      ],
    },
  ];
}

export const outputsPanel = (outputs: ShownAccount["alertOutputs"]): Panel => [
  { kind: "facts", rows: outputRows(outputs) },
];

const outputRows = ({ webhookUrl, messengerChannelId }: ShownAccount["alertOutputs"]) =>
  [
    ["Webhook", webhookUrl ?? "none"],
    ["Channel", messengerChannelId ?? "none"],
  ] as const;

const right = (title: string): Column => ({ title, align: "right" });

export const poolPanel = (pool: PoolState): Panel => [
  {
    kind: "facts",
    rows: [
      ["Pool", pool.address],
      ["Chain", pool.chainId],
      ["Protocol", pool.protocol],
      ["TVL", formatUsd(pool.usdTvl)],
      ["Volume 24 h", formatUsd(pool.h24UsdVolume)],
    ],
  },
  pool.tokens.length > 0 && {
    kind: "table",
    columns: [
      { title: "TOKEN" },
      ...["PRICE", "AMOUNT", "TVL", "VOLUME 24 H"].map(right),
      { title: "ADDRESS", keep: true },
    ],
    rows: pool.tokens.map(({ symbol, priceUsd, tvl, usdTvl, h24UsdVolume, address }) => [
      ...[symbol, formatPrice(priceUsd), formatNumber(tvl), formatUsd(usdTvl), formatUsd(h24UsdVolume), address],
    ]),
  },
  pool.pairs.length > 0 && {
    kind: "table",
    columns: [{ title: "PAIR" }, ...["PRICE", "INVERSE", "VOLUME 24 H"].map(right)],
    rows: pool.pairs.map(({ base, quote, baseToQuotePrice, quoteToBasePrice, h24UsdVolume }) => [
      `${base}/${quote}`,
      ...[formatNumber(baseToQuotePrice), formatNumber(quoteToBasePrice), formatUsd(h24UsdVolume)],
    ]),
  },
];

export function tickerPanel({ id, aggregated, cex, dex }: Ticker): Panel {
  const rows = Object.entries({ aggregated, centralized: cex, decentralized: dex }).map(([name, market]) => [
    ...[name, formatPrice(market?.price), formatUsd(market?.h24UsdVolume)],
    market === dex ? formatUsd(dex?.usdTvl) : "",
  ]);
  return [{ kind: "table", columns: [{ title: id }, ...["PRICE", "VOLUME 24 H", "TVL"].map(right)], rows }];
}

export const pricesPanel = (prices: readonly EquityPrice[]): Panel => [
  {
    kind: "table",
    columns: [{ title: "SYMBOL", keep: true }, right("PRICE")],
    rows: prices.map(({ symbol, price }) => [symbol, typeof price === "string" ? price : formatNumber(price)]),
  },
];
