# Tocsin in a container: built with compilers, shipped without them, run without root.

FROM node:24-bookworm-slim AS build
# better-sqlite3 is compiled where no ready-made binary fits.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ make python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --no-fund --no-audit
COPY tsconfig.json tsconfig.build.json ./
COPY scripts/copy-assets.mjs scripts/bundle.mjs scripts/keep-compiled.cjs scripts/load-compiled.cjs scripts/
COPY src src
RUN npm run build
# What was compiled stays; only the tools of development go.
RUN npm prune --omit=dev --no-fund --no-audit

FROM node:24-bookworm-slim
ENV NODE_ENV=production HOST=0.0.0.0 PORT=8080 DATA_DIR=/data
WORKDIR /app
# The bracket makes the last name optional: your own tocsin.yaml goes along when there is one. It holds no secrets.
COPY package.json tocsin.example.yaml tocsin.yam[l] ./
COPY bin bin
COPY deploy/container.sh deploy/
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
RUN ln -s /app/deploy/container.sh /usr/local/bin/tocsin \
 && install --directory --owner=node --group=node --mode=0700 /data
VOLUME /data
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PORT + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# No USER: a volume mounts as root's. The entrypoint gives it to `node` and then becomes `node` for good.
ENTRYPOINT ["tocsin"]
# A relay that crashes, or is told to restart, leaves its socket to the parent, where alerts wait for the next.
CMD ["serve", "--supervised"]
