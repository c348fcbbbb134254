import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { formatStatement } from '../../src/update/statement.js'
import { cli } from './run-cli.js'

/** Behaviour of a simulated executable: how it serves, and what its doctor prints. */
export interface Habits {
  serves?: 'well' | 'crashes' | 'never ready' | 'answers 503' | 'ends badly'
  doctor?: 0 | 1 | 2
}

/** Version of the simulated executable before an update. */
export const OLD = '1.0.0'
/** Target of this machine. */
export const TARGET = `${process.platform}-${process.arch}`
const { publicKey, privateKey } = generateKeyPairSync('ed25519')

export { privateKey }
/** Value of `update.publicKey`. */
export const trusted = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64')

/** Script that simulates the verbs used by an update. */
export function program(version: string, { serves = 'well', doctor = 0 }: Habits = {}): string {
  const code = `
const http = require("node:http")
const [verb, ...argv] = process.argv.slice(1)
const serves = "${serves}"
if (verb === "version") console.log(JSON.stringify({ version: "${version}" }))
else if (verb === "doctor") {
  if (${doctor} > 0) console.error("doctor of ${version} found ${doctor}")
  process.exitCode = ${doctor}
} else if (serves === "crashes") {
  console.error("segmentation fault, or so")
  process.exit(3)
} else {
  const server = http.createServer((request, response) => {
    response.statusCode = serves === "answers 503" ? 503 : 200
    response.end(request.url === "/openrpc.json" ? JSON.stringify({ info: { version: "${version}" } }) : "{}")
  })
  server.listen(Number(argv[argv.indexOf("--port") + 1]), "127.0.0.1", () => {
    if (serves !== "never ready")
      console.log(JSON.stringify({ event: "ready", url: "http://127.0.0.1:" + server.address().port }))
  })
  process.on("SIGTERM", () => process.exit(serves === "ends badly" ? 1 : 0))
}`
  return `#!/bin/sh\n# version: '${version}'\nexec '${process.execPath}' -e '${code}' -- "$@"\n`
}

/** A folder with a simulated executable. */
export interface Place {
  dir: string
  /** runs \`update\` for a release of that file name */
  update(name: string, ...argv: string[]): ReturnType<typeof cli>
  /** makes a release with its signature */
  release(name: string, version: string, habits?: Habits, key?: KeyObject): string
  installed(): string
  /** names in the executable's folder */
  left(): string[]
}

/** Makes a folder with a simulated executable and settings of updates. */
export function place(t: Test, settings: object = {}, habits: Habits = {}): Place {
  const dir = t.testdir({
    bin: {},
    data: {},
    'edge.config.json': JSON.stringify({ update: { publicKey: trusted, readyS: 60, ...settings } }),
  })
  const executable = path.join(dir, 'bin/fieldgate')
  writeFileSync(executable, program(OLD, habits), { mode: 0o755 })
  return {
    dir,
    update: (name, ...argv) =>
      cli(dir, ['update', path.join(dir, name), '--executable', executable, ...argv], {
        PATH: process.env.PATH,
      }),
    release(name, version, habits = {}, key = privateKey) {
      const file = path.join(dir, name)
      const bytes = Buffer.from(program(version, habits))
      writeFileSync(file, bytes)
      writeSignature(`${file}.sig`, version, bytes, key)
      return file
    },
    installed: () => /version: '([^']+)'/.exec(readFileSync(executable, 'utf8'))?.[1] ?? 'none',
    left: () => readdirSync(path.join(dir, 'bin')).sort(),
  }
}

/** Returns the text of the `.sig` file of a release. */
export function signatureOf(version: string, bytes: Buffer, key = privateKey, target = TARGET): string {
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  const text = formatStatement({ version, target, sizeBytes: bytes.length, sha256 })
  return `${text}signature: ${sign(null, Buffer.from(text), key).toString('base64')}\n`
}

/** Writes the signature of a release. */
export function writeSignature(
  file: string,
  version: string,
  bytes: Buffer,
  key: KeyObject,
  target = TARGET,
): void {
  writeFileSync(file, signatureOf(version, bytes, key, target))
}
