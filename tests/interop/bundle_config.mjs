// Print how the official code starts an unpacked bundle: NODE_MODULES FOLDER USER_CONFIG, a JSON object.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [modules, folder, userConfig] = process.argv.slice(2);
const { getMcpConfigForManifest } = await import(
  pathToFileURL(modules + "/@anthropic-ai/mcpb/dist/shared/config.js").href);
const config = await getMcpConfigForManifest({
  manifest: JSON.parse(readFileSync(folder + "/manifest.json", "utf8")), extensionPath: folder,
  systemDirs: { HOME: process.env.HOME }, userConfig: JSON.parse(userConfig), pathSeparator: "/", logger: console,
});
process.stdout.write(JSON.stringify(config));
