import { existsSync, readdirSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import type { Command } from 'commander'
import { type DataLayout, layoutOf } from '../../files/layout.js'
import { type TarEntry, tarGz } from '../../files/tar.js'
import type { DatabaseFacts, Databases, StoredFacts } from '../../storage/maintenance.js'
import { createMaintenance } from '../../storage/sqlite/maintenance/maintenance.js'
import { type CliDeps, type CliIo, type GlobalOptions, oneLine, printJson } from '../io.js'
import { sizeText } from '../models/model-data.js'
import { findSettings } from '../settings.js'
import { runDoctor } from './doctor.js'
import { createMasker, knownSecrets, lastFaults, type Masker } from './secrets.js'

interface SupportFlags extends GlobalOptions {
  output?: string
  log?: string
  offline?: boolean
}

const MAX_LINES = 1000

/** Adds `support`: writes an archive for a fault report. Secrets are masked. */
export function addSupportCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('support')
    .description('writes an archive for a fault report: settings, checks, sizes and log, with secrets masked')
    .option('-o, --output <file>', 'file to write (default: fieldgate-support-<time>.tar.gz)')
    .option(
      '--log <file>',
      'log whose last warnings and errors are included, such as the output of journalctl',
    )
    .option('--offline', 'makes no request to upstreams')
    .action(async (_options, command: Command) => {
      await support(command.optsWithGlobals<SupportFlags>(), io, deps)
    })
}

async function support(flags: SupportFlags, io: CliIo, deps: CliDeps): Promise<void> {
  const nowMs = Date.now()
  const stamp = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, '')
  const output = path.resolve(deps.cwd, flags.output ?? `fieldgate-support-${stamp}.tar.gz`)
  if (existsSync(output)) throw new Error(`${output} already exists: choose another name with -o`)
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

/**
 * Makes the files of the archive. A part that fails is replaced by its error, and does not prevent the
 * others.
 */
async function gather(flags: SupportFlags, io: CliIo, deps: CliDeps): Promise<TarEntry[]> {
  const settings = findSettings(flags, deps)
  const dataDir = 'faults' in settings ? undefined : settings.dataDir
  const layout = layoutOf(
    dataDir ?? deps.cwd,
    'config' in settings ? settings.config.encryption.keyFile : undefined,
  )
  const { databases, facts } = createMaintenance()
  const { mask, hasSecrets } = await makeMasker(layout, facts)
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
    ['tables.json', () => (dataDir === undefined ? null : tables(layout.root, databases))],
    ['sizes.json', () => (dataDir === undefined ? null : sizes(layout.root))],
  ]
  const { log } = flags
  if (log !== undefined && hasSecrets)
    parts.push(['log.txt', () => lastFaults(path.resolve(deps.cwd, log), MAX_LINES).join('\n')])
  const entries: TarEntry[] = []
  for (const [name, make] of parts) {
    const value = await attempt(make)
    const text = typeof value === 'string' ? value : JSON.stringify(value, null, 1)
    entries.push({ name: `fieldgate-support/${name}`, text: mask(`${text}\n`) })
  }
  return entries
}

/**
 * Makes the masker of the archive. When the secrets of the data directory cannot be read, only shapes of
 * secrets can be masked; texts of other programs, such as the log, must then stay out.
 */
async function makeMasker(
  layout: DataLayout,
  facts: StoredFacts,
): Promise<{ mask: Masker; hasSecrets: boolean }> {
  try {
    return { mask: createMasker(await knownSecrets(layout, facts)), hasSecrets: true }
  } catch {
    return { mask: createMasker([]), hasSecrets: false } // doctor.json names the cause
  }
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
    node,
    v8,
    openssl,
    sqlite,
    platform: `${process.platform}-${process.arch}`,
    kernel: os.release(),
    cpus: os.cpus().length,
    memoryBytes: os.totalmem(),
    freeMemoryBytes: os.freemem(),
    uptimeS: Math.round(os.uptime()),
    now: new Date().toISOString(),
  }
}

/** Names and row counts of all tables; never a row. */
async function tables(root: string, databases: Databases): Promise<object> {
  const facts: Record<string, DatabaseFacts> = {}
  for (const name of await databases.list(root)) facts[name] = await databases.facts(root, name)
  return facts
}

/** Bytes and number of files of each entry of the data directory. */
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

/** Writes a file under a temporary name and renames it, so that it is complete or missing. */
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
    throw new Error(`${file} cannot be written: ${oneLine(error)}; choose another file with -o`, {
      cause: error,
    })
  }
}
