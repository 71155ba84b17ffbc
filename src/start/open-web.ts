import type { Config } from "../config/config.ts";
import { readOtherRules } from "../config/read-config.ts";
import type { WatchStore } from "../core/ports/watch.ts";
import { Secret } from "../core/secret.ts";
import type { NameOf } from "../core/subject-name.ts";
import { createComposeAgain, createGetAlert, type Processing } from "../explain/processing.ts";
import { createTryRules } from "../explain/try-rules.ts";
import { readVersion } from "../ground/version.ts";
import { createWeb, type Web } from "../web/web.ts";
import type { WebDeps } from "../web/web-deps.ts";
import type { SecretsInForce } from "./hook-secrets.ts";
import type { Market } from "./open-market.ts";
import type { RelayPictures } from "./open-pictures.ts";

type Given = "operations" | "adminToken" | "tokenCheck" | "configurationHash" | "publicUrl" | "clock" | "newId" | "log";

export interface OpenWebDeps extends Pick<WebDeps, Given> {
  store: WebDeps["store"] & Pick<WatchStore, "loadWatchState">;
  hookSecrets: SecretsInForce;
  processing: Processing;
  pictures: RelayPictures;
  market: Market;
  nameOf: NameOf;
}

/** Pages, API and event streams over the parts of this relay. */
export function openWeb({ rules, server, sources }: Config, deps: OpenWebDeps): Promise<Web> {
  const { hookSecrets, processing, pictures, market, publicUrl, log } = deps;
  const composer = processing.createComposer(publicUrl, log, { nameOf: deps.nameOf });
  const hookAt = (secret: Secret) => new Secret(`${publicUrl}/hooks/${secret.reveal()}`);
  const store = { ...deps.store, getAlert: createGetAlert(deps.store, processing.readPayloads) };
  const listMutes = () => deps.operations.listMutes(true);
  const tryRules = createTryRules({ store: deps.store, reader: processing.reader, listMutes });
  return createWeb({
    store,
    operations: deps.operations,
    adminToken: deps.adminToken,
    tokenCheck: deps.tokenCheck,
    publicUrl,
    hookUrl: () => hookAt(hookSecrets.ofHook()[0]),
    sourceHooks: () =>
      sources.flatMap(({ name }) => {
        const [present] = hookSecrets.ofSource(name);
        return present === undefined ? [] : [{ name, url: hookAt(present) }];
      }),
    composeAgain: createComposeAgain({ composer, readPayloads: processing.readPayloads }, rules.destinations),
    tryFile: async (text, from) => tryRules(readOtherRules(text, rules), from),
    metricHistory: market.histories?.read,
    learnedName: market.names?.find,
    market: market.context,
    toPng: pictures.toPng,
    drawPicture: pictures.areFetched ? pictures.draw : undefined,
    pictureOf: pictures.notes.ofDelivery,
    notePictureFetched: pictures.noteFetched,
    version: readVersion(),
    configurationHash: deps.configurationHash,
    trustedProxies: server.trustedProxies,
    behindFly: server.isBehindFly,
    clock: deps.clock,
    newId: deps.newId,
    log,
  });
}
