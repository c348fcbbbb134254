import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { layoutOf } from '../../files/layout.js'
import { type CliDeps, type CliIo, type GlobalOptions, printJson } from '../io.js'
import { readSettings } from '../settings.js'
import { FLOOD } from './demo.js'
import { AVOID_FLOOD, findSample, routeRequest, type Sample } from './demo-lines.js'

/** Route of the demo. */
interface Route {
  /** m */
  readonly length: number
  /** h */
  readonly time: number
  readonly max_risk: number
}

/** Sensitivities that show the risk of a route and change nothing about it. */
const IGNORE_FLOOD = Array.from({ length: 11 }, () => 0)

/** Adds the verb that asks a gateway of `serve --demo` for its two routes. */
export function addDemoCommand(program: Command, io: CliIo, deps: CliDeps): void {
  program
    .command('demo')
    .description('tries a gateway that was started with serve --demo')
    .command('route')
    .description('asks it for the fastest route through the flood, and for the one around it')
    .action(async (_options, command: Command) => {
      const globals = command.optsWithGlobals<GlobalOptions>()
      const { dataDir, config } = readSettings(globals, deps)
      const sample = findSample(layoutOf(dataDir, config.encryption.keyFile))
      if (sample === undefined) throw new Error('there is no demo here: start one with serve --demo')
      const fastest = await askRoute(sample, { [FLOOD]: IGNORE_FLOOD })
      const around = await askRoute(sample, { [FLOOD]: AVOID_FLOOD })
      if (globals.json === true) return printJson(io, { fastest, around })
      io.stdout.write(`Fastest:          ${routeText(fastest)}\nAround the flood: ${routeText(around)}\n`)
    })
}

async function askRoute({ url, headersFile }: Sample, themes: object): Promise<Route> {
  const lines = readFileSync(headersFile, 'utf8').trim().split('\n')
  const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]))
  let response: Response
  try {
    response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(routeRequest(themes)) })
  } catch (error) {
    throw new Error(`the demo does not answer at ${new URL(url).origin}: start it with serve --demo`, {
      cause: error,
    })
  }
  const { result, error } = (await response.json()) as { result?: Route; error?: { message: string } }
  if (result === undefined) throw new Error(`the demo refuses the call: ${error?.message ?? response.status}`)
  return { length: result.length, time: result.time, max_risk: result.max_risk }
}

function routeText({ length, time, max_risk: risk }: Route): string {
  const seconds = Math.round(time * 3600)
  const minutes = `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`
  return `${(length / 1000).toFixed(1)} km, ${minutes}, highest risk ${risk}`
}
