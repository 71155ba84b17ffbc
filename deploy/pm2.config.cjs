// pm2: pm2 start deploy/pm2.config.cjs, as the user whose Tocsin it is; "With another supervisor" in docs/deploy.md.
// `pm2 sendSignal SIGHUP tocsin` checks the configuration and restarts the relay behind its socket; `pm2 restart` closes the socket.
const { join } = require("node:path");

module.exports = {
  apps: [
    {
      name: "tocsin",
      cwd: join(__dirname, ".."),
      script: "bin/tocsin.js",
      args: "serve --supervised",
      // One process: two on one DATA_DIR refuse each other.
      exec_mode: "fork",
      instances: 1,
      autorestart: true,
      restart_delay: 1_000,
      // A stop by SIGTERM takes up to 45 seconds; pm2 kills after 1.6.
      kill_timeout: 45_000,
      // The parent stops the relay; pm2 need not do it as well.
      treekill: false,
    },
  ],
};
