import { existsSync, readdirSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Command } from 'commander'
import { layoutOf } from '../files/layout.js'
import { type TarEntry, tarGz } from '../files/tar.js'
import { readDatabaseFacts } from '../storage/sqlite/connection/database-facts.js'
import { runDoctor } from './doctor.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from './io.js'
import { sizeText } from './models/model-data.js'
import { findSettings } from './settings.js'
import { createMasker, lastFaults, type Masker } from './support-secrets.js'

interface SupportFlags extends GlobalOptions {
  output?: string
  log?: string
  offline?: boolean
}

const MAX_LINES = 1000

/** `support`: what somebody who helps from afar needs to know, and nothing that opens a door. */
export function addSupportCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('support')
    .description('gathers what a report of a fault needs into one archive, without secrets')
    .option('-o, --output <file>', 'where it goes (default: fieldgate-support-<time>.tar.gz)')
    .option('--log <file>', 'log whose last warnings and errors go along, such as the output of journalctl')
    .option('--offline', 'calls no upstream')
    .action(async (_options, command: Command) => {
      await support(command.optsWithGlobals<SupportFlags>(), io, deps)
    })
}

async function support(flags: SupportFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const nowMs = Date.now()
  const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const output = path.resolve(deps.cwd, flags.output ?? `fieldgate-support-${stamp}.tar.gz`)
  if (existsSync(output)) throw new Error(`${output} is there already: choose another name with -o`)
  deps.makeFilesPrivate()
  const entries = await gather(flags, io, deps)
  await writeWhole(output, tarGz(entries, nowMs))
  const names = entries.map(({ name }) => path.basename(name))
  if (flags.json === true) printJson(io, { output, files: names })
  else
    io.stdout.write(
      `${output} (${sizeText(statSync(output).size)}): ${names.join(', ')}. Secrets are masked.\n`,
    )
}

/** Each part by itself: what cannot be had says why, and keeps nothing else out. */
async function gather(flags: SupportFlags, io: CliIo, deps: CliDeps): Promise<TarEntry[]> {
  const settings = findSettings(flags, deps)
  const dataDir = 'faults' in settings ? undefined : settings.dataDir
  const layout = layoutOf(dataDir ?? deps.cwd)
  const masker = await attempt(() => createMasker(layout))
  // where the secrets cannot be read nothing of the databases can be either; what others wrote stays out
  const isBlind = typeof masker !== 'function'
  const mask = isBlind ? createMasker(layoutOf(os.devNull)) : (masker as Masker)
  const parts: [name: string, make: () => unknown][] = [
    ['versions.json', () => versions(deps)],
    [
      'config.json',
      () =>
        'faults' in settings
          ? settings
          : { file: settings.file, origins: settings.origins, config: settings.config },
    ],
    ['doctor.json', () => runDoctor(flags, io, deps)],
    ['tables.json', () => (dataDir === undefined ? null : tables(layout.root))],
    ['sizes.json', () => (dataDir === undefined ? null : sizes(layout.root))],
  ]
  const { log } = flags
  if (log !== undefined && !isBlind)
    parts.push(['log.txt', () => lastFaults(path.resolve(deps.cwd, log), MAX_LINES).join('\n')])
  const entries: TarEntry[] = []
  for (const [name, make] of parts) {
    const value = await attempt(make)
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1)
    entries.push({ name: `fieldgate-support/${name}`, text: mask(`${text}\n`) })
  }
  return entries
}

async function attempt(make: () => unknown): Promise<unknown> {
  try {
    return await make()
  } catch (error) {
    return { fault: oneLine(error) }
  }
}

function versions(deps: CliDeps): object {
  const { node, v8, openssl, sqlite } = process.versions
  return {
    fieldgate: deps.version,
    ...{ node, v8, openssl, sqlite },
    platform: `${process.platform}-${process.arch}`,
    kernel: os.release(),
    cpus: os.cpus().length,
    memoryBytes: os.totalmem(),
    freeMemoryBytes: os.freemem(),
    uptimeS: Math.round(os.uptime()),
    now: new Date().toISOString(),
  }
}

/** Names and row counts of the databases' tables; never a row. */
function tables(root: string): object {
  const names = ['state.db', 'data.db'].filter((name) => existsSync(path.join(root, name)))
  return Object.fromEntries(names.map((name) => [name, readDatabaseFacts(path.join(root, name))]))
}

/** Bytes and files of each entry of the data directory. */
function sizes(root: string): object {
  return Object.fromEntries(readdirSync(root).map((name) => [name, sizeOf(path.join(root, name))]))
}

function sizeOf(file: string): { bytes: number; files: number } {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined || !found.isDirectory())
    return { bytes: found?.size ?? 0, files: found === undefined ? 0 : 1 }
  const sum = { bytes: 0, files: 0 }
  for (const entry of readdirSync(file, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue
    sum.bytes += statSync(path.join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0
    sum.files++
  }
  return sum
}

/** The file appears whole or not at all. */
async function writeWhole(file: string, bytes: Buffer): Promise<void> {
  const part = `${file}.part`
  try {
    const handle = await open(part, 'wx', 0o600)
    try {
      await handle.writeFile(bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(part, file)
  } catch (error) {
    await rm(part, { force: true })
    throw new Error(`${file} cannot be written: ${oneLine(error)}; choose another place with -o`, {
      cause: error,
    })
  }
}
