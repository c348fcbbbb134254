// Processes of a hub, over engines that run: for benches, attacks and kills.
import { execFileSync, spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { readyOf } from './bench/gateway.mjs'
import { HUB_NODE_FLAGS } from './node-flags.mjs'

const PROGRAM = path.resolve('dist/fieldgate.cjs')

/**
 * Prepares the verbs of a hub.
 *
 * @param place of `makeHub`
 * @param dir name of the data directory below it
 * @returns function of the words of a verb, which returns what it prints
 */
export function hubVerbs(place, dir, program = PROGRAM) {
  const settings = settingsOf(place, dir)
  const [command, ...first] = commandOf(program)
  return (...words) =>
    JSON.parse(execFileSync(command, [...first, ...words, ...settings], { encoding: 'utf8' }))
}

/** Returns the command of a program: a bundle, or an executable, which takes flags of Node by a word of its own. */
function commandOf(program, flags = []) {
  if (program.endsWith('.cjs')) return [process.execPath, ...flags, program]
  return flags.length === 0 ? [program] : [program, `--node-options=${flags.join(' ')}`]
}

/**
 * Starts a process of a hub that `hub init` has made.
 *
 * @param options `env`; `program`, another build; `wrap`, words before the command; `onLog`, taker of the lines of the log
 *   in place of the terminal
 * @returns `stop()` lets it end its work, `kill()` does not; both wait for its end
 */
export async function startHubProcess(place, dir, { env, program = PROGRAM, wrap = [], onLog } = {}) {
  const serve = ['serve', '--port', '0', ...settingsOf(place, dir)]
  const [command, ...words] = [...wrap, ...commandOf(program, HUB_NODE_FLAGS), ...serve]
  const child = spawn(command, words, {
    stdio: ['ignore', 'pipe', onLog === undefined ? 'inherit' : 'pipe'],
    env: { ...process.env, FIELDGATE_LOG__LEVEL: 'error', ...env },
  })
  if (onLog !== undefined) createInterface(child.stderr).on('line', onLog)
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const end = async (signal) => {
    if (isRunning()) child.kill(signal)
    await ended
  }
  const { url } = await readyOf(child).catch(async (error) => {
    await end('SIGKILL')
    throw error
  })
  const { pid } = child
  return {
    ...{ url, pid, dataDir: path.join(place.dir, dir), isRunning },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  }
}

function settingsOf(place, dir) {
  return ['--json', '--config', place.config, '--data-dir', path.join(place.dir, dir)]
}
