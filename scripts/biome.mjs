// Runs biome's own program. Its npm wrapper is left out: it names packages of platforms that not every registry mirror
// holds, and `npm ci` refuses a lock file without them.
import { spawnSync } from 'node:child_process'

const program = `node_modules/@biomejs/cli-linux-${process.arch}/biome`
const { status, error } = spawnSync(program, process.argv.slice(2), { stdio: 'inherit' })
if (error !== undefined) console.error(`cannot run ${program}: ${error.message}`)
process.exit(status ?? 1)
