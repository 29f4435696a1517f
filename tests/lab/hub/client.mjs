// Brings the made-up model into a cache, as any program does that uses this library.
// Usage: client.mjs PACKAGES URL CACHE
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [packages, hubUrl, cacheDir] = process.argv.slice(2);
const library = createRequire(pathToFileURL(packages + "/")).resolve("@huggingface/hub");
const { snapshotDownload } = await import(pathToFileURL(library));
console.debug = () => {};
console.log(await snapshotDownload({ repo: "org/tiny", hubUrl, cacheDir }));
