import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { layoutOf, makeDirectories } from '../../files/layout.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { createProgress } from '../progress.js'
import { prepareDataDir } from '../serving/prepare.js'
import { measureDisk } from './disk.js'
import { type LoadOptions, measureCalls, measureIdle, measureRoutes, measureRows } from './loads.js'
import { measureProcessor } from './processor.js'
import type { Row } from './row.js'
import { startServer } from './server.js'

interface BenchFlags extends GlobalOptions {
  dir?: string
  seconds: number
}

/** Adds `bench`: measures this machine with gateways of its own. */
export function addBenchCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('bench')
    .description(
      'measures processor, disk, start, memory, calls, rows and routes of this machine, in a temporary folder',
    )
    .option('--dir <folder>', 'folder on the disk that is measured (default: that of temporary files)')
    .option('--seconds <n>', 'length of each load, 1 to 60', parseSeconds, 3)
    .action(async (_options, command: Command) => {
      await bench(command.optsWithGlobals<BenchFlags>(), io, deps)
    })
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (seconds >= 1 && seconds <= 60) return seconds
  throw new InvalidArgumentError('expected a number from 1 to 60')
}

async function bench(flags: BenchFlags, io: CliIo, deps: CliDeps): Promise<void> {
  deps.makeFilesPrivate() // the folder holds a key while the bench runs
  const parent = path.resolve(deps.cwd, flags.dir ?? os.tmpdir())
  const dir = mkdtempSync(path.join(parent, 'fieldgate-bench-'))
  let isStopped = false
  const stops = (['SIGINT', 'SIGTERM'] as const).map((signal) =>
    deps.onSignal(signal, () => {
      isStopped = true
    }),
  )
  const progress = createProgress(io.stderr)
  try {
    const rows: Row[] = []
    const loads = { loadMs: flags.seconds * 1000 }
    for await (const { title, made } of measureAll(dir, loads, deps)) {
      rows.push(...made)
      progress.show(undefined, title)
      if (isStopped) throw stopped()
    }
    progress.clear()
    print(io, machineFacts(deps), rows, flags.json === true)
  } catch (error) {
    // a terminal sends the signal to the gateway of the bench, too, which then does not answer
    throw isStopped ? stopped(error) : error
  } finally {
    progress.clear()
    for (const stop of stops) stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

function stopped(cause?: unknown): Error {
  return new Error('stopped; nothing is left behind', { cause })
}

/** Measures part by part, so that a signal is noticed in between. Gateways are stopped whatever happens. */
async function* measureAll(
  dir: string,
  loads: LoadOptions,
  deps: CliDeps,
): AsyncGenerator<{ title: string; made: Row[] }> {
  yield { title: 'processor', made: measureProcessor() }
  yield { title: 'disk', made: measureDisk(dir) }
  const layout = layoutOf(path.join(dir, 'data'))
  makeDirectories(layout)
  const { apiKey, secret } = await prepareDataDir(layout)
  if (apiKey === null || secret === null) throw new Error(`${dir} is not empty`)
  const key = { apiKey, secret }
  const server = await startServer(deps, dir, key)
  try {
    yield { title: 'start', made: await measureIdle(server, 'empty gateway') }
    yield { title: 'calls', made: await measureCalls(server, loads) }
    yield { title: 'rows', made: await measureRows(server, loads) }
  } finally {
    await server.stop()
  }
  // the first start builds the map of the town
  await (await startServer(deps, dir, key, ['--demo'])).stop()
  const town = await startServer(deps, dir, key, ['--demo'])
  try {
    yield { title: 'start with a map', made: await measureIdle(town, 'with the map of a small town') }
    yield { title: 'routes', made: await measureRoutes(town, loads) }
  } finally {
    await town.stop()
  }
}

/** Circumstances of the figures. */
function machineFacts({ version }: CliDeps): Record<string, string> {
  const [cpu] = os.cpus()
  return {
    program: `${version}, Node ${process.versions.node}`,
    system: `${os.type()} ${os.release()}, ${process.arch}`,
    processor: `${os.availableParallelism()} cores, ${cpu?.model.trim() || 'model not told'}`,
    memory: `${(os.totalmem() / 2 ** 30).toFixed(1)} GiB`,
    load: `${os.loadavg()[0]?.toFixed(1)} processes in the last minute, those of this bench among them`,
    date: new Date().toISOString().slice(0, 10),
  }
}

function print(io: CliIo, machine: Record<string, string>, rows: readonly Row[], isJson: boolean): void {
  if (isJson) {
    printJson(io, { machine, rows })
    return
  }
  const lines: [string, string][] = [
    ...Object.entries(machine),
    ...rows.map(({ part, what, value }): [string, string] => [`${part}: ${what}`, value]),
  ]
  const width = Math.max(...lines.map(([name]) => name.length)) + 2
  for (const [name, value] of lines) io.stdout.write(`${name.padEnd(width)}${value}\n`)
}
