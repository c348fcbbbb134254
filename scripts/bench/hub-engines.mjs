// The engines of a hub for a bench, and a process of the hub on them.
import '../test/load-typescript.mjs'
import path from 'node:path'
import { hubVerbs, startHubProcess } from '../hub-process.mjs'
import { UNIT_ENV } from '../node-flags.mjs'
import { withOwner } from '../owner.mjs'

const { makeHub, noHub, startEngines } = await import('../../test/support/hub.ts')

/** Does work with an owner, where engines can be had. */
export const withEngines = (work) => withOwner(noHub(), work)

/** Returns the program of a hub: BENCH_PROGRAM names another build, such as the executable. */
export const benchProgram = () => path.resolve(process.env.BENCH_PROGRAM ?? 'dist/fieldgate.cjs')

/** Starts engines and a process of a hub on them. `headers` are those of its first key. */
export async function startHub(owner) {
  const engines = await startEngines(owner)
  const place = await makeHub(owner, engines)
  const program = benchProgram()
  const { apiKey: apikey, secret } = hubVerbs(place, 'bench', program)('hub', 'init')
  const { url, pid, stop } = await startHubProcess(place, 'bench', { env: UNIT_ENV, program })
  owner.teardown(stop)
  return { url, pid, engines, headers: { apikey, secret } }
}
