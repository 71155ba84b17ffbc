import type { Config } from "../config/config.ts";
import { readOtherRules } from "../config/read-config.ts";
import { Secret } from "../core/secret.ts";
import { createTryRules } from "../explain/backtest.ts";
import { createComposeAgain, createGetAlert } from "../explain/processing.ts";
import { readVersion } from "../ground/version.ts";
import { createWeb, type Web } from "../web/web.ts";
import type { WebDeps } from "../web/web-deps.ts";
import type { Accepting } from "./accepting.ts";
import type { Relaying } from "./relaying.ts";

export interface OpenWebDeps extends Pick<WebDeps, "operations" | "tokenCheck"> {
  accepting: Accepting;
  relaying: Relaying;
}

export async function openWeb({ rules, sources }: Config, deps: OpenWebDeps): Promise<Web> {
  const { accepting, relaying, ...given } = deps;
  const { store, secrets, hookSecrets, publicUrl, clock, newId, log } = accepting;
  const { processing, pictures, nameOf, configurationHash } = relaying;
  const market = await relaying.market.open();
  const composer = processing.createComposer(publicUrl, log, { nameOf });
  const hookAt = (secret: Secret) => new Secret(`${publicUrl}/hooks/${secret.reveal()}`);
  const listMutes = () => given.operations.listMutes(true);
  const tryRules = createTryRules({ store, reader: processing.reader, listMutes });
  return createWeb({
    ...given,
    ...accepting.proxies,
    store: { ...store, getAlert: createGetAlert(store) },
    adminToken: secrets.adminToken,
    publicUrl,
    hookUrl: () => hookAt(hookSecrets.of()[0] as Secret),
    sourceHooks: () =>
      sources.flatMap(({ name }) => {
        const [present] = hookSecrets.of(name);
        return present === undefined ? [] : [{ name, url: hookAt(present) }];
      }),
    composeAgain: createComposeAgain(composer, rules.destinations),
    tryFile: async (text, from) => tryRules(readOtherRules(text, rules), from),
    metricHistory: market.histories?.read,
    learnedName: market.names?.find,
    market: market.context,
    toPng: pictures.toPng,
    drawPicture: pictures.areFetched ? pictures.draw : undefined,
    pictureOf: pictures.notes.ofDelivery,
    notePictureFetched: pictures.noteFetched,
    version: readVersion(),
    configurationHash,
    clock,
    newId,
    log,
  });
}
