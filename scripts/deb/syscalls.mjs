// Runs the executable with a module under strace, and compares the system calls that are made with those that
// the unit allows, once as the unit comes and once with modules.conf: a call that is missing there would fail
// only in the field.
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { readyOf } from '../bench/gateway.mjs'

/**
 * Calls that only root makes, not the user of the service: SQLite gives its files to the owner of the
 * database.
 */
const ROOT_ONLY = new Set(['fchown'])

/**
 * @returns what is missing for it, null when every call is allowed; throws Error with the calls that are not
 */
export async function compareSystemCalls(executable) {
  const missing = [
    ['strace', '--version'],
    ['systemd-analyze', '--version'],
    ['unshare', '--user', '--map-root-user', 'true'],
  ].filter((command) => !works(command))
  if (missing.length > 0) return missing.map((command) => command.join(' ')).join(', ')
  const unit = readFileSync('scripts/deb/fieldgate.service', 'utf8')
  const more = readFileSync('scripts/deb/modules.conf', 'utf8')
  for (const [isolation, text] of [
    ['none', unit],
    ['namespaces', `${unit}\n${more}`],
  ]) {
    const allowed = allowedBy(text)
    const wrong = [...(await callsOf(executable, isolation))].filter(
      (name) => !allowed.has(name) && !ROOT_ONLY.has(name),
    )
    if (wrong.length > 0) throw new Error(`isolation ${isolation}: the unit forbids ${wrong.join(', ')}`)
  }
  return null
}

function works([program, ...argv]) {
  try {
    execFileSync(program, argv, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Lines are read in their order: later ones add, those with a tilde take away. */
function allowedBy(text) {
  const allowed = new Set(['execve', 'exit', 'exit_group', 'rt_sigreturn', 'restart_syscall'])
  for (const [, tilde, words] of text.matchAll(/^SystemCallFilter=(~?)(.*)$/gm))
    for (const name of words.split(/\s+/).flatMap(namesOf))
      tilde === '' ? allowed.add(name) : allowed.delete(name)
  return allowed
}

function namesOf(word) {
  if (!word.startsWith('@')) return [word]
  return execFileSync('systemd-analyze', ['syscall-filter', '--no-pager', word], { encoding: 'utf8' })
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap(namesOf)
}

/** Serves, runs a module once, and stops. */
async function callsOf(executable, isolation) {
  const dir = mkdtempSync(path.join(os.tmpdir(), 'fieldgate-syscalls-'))
  const module = path.join(dir, 'data/modules/one')
  mkdirSync(module, { recursive: true })
  writeFileSync(path.join(module, 'go.sh'), '#!/bin/sh\necho here > application/seen\n')
  chmodSync(path.join(module, 'go.sh'), 0o755)
  const scripts = { go: { path: 'go.sh', type: 'data_transformation' } }
  writeFileSync(path.join(module, 'definition.json'), JSON.stringify({ name: 'one', scripts }))
  const trace = path.join(dir, 'trace')
  const serve = [executable, 'serve', '--data-dir', path.join(dir, 'data'), '--port', '0', '--json']
  const child = spawn('strace', ['-f', '-qq', '-o', trace, ...serve], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, FIELDGATE_DATAPROC__ISOLATION: isolation },
  })
  try {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    const { url, secretFile } = await readyOf(child)
    const [apiKey, secret] = readFileSync(secretFile, 'utf8')
      .split('\n')
      .map((line) => line.replace(/^\w+: /, ''))
    const response = await fetch(`${url}/api/v1/dataproc/jsonrpc/call/dataproc.exec`, {
      method: 'POST',
      headers: { APIKey: apiKey, Secret: secret, 'Content-Type': 'application/json' },
      body: JSON.stringify({ module: 'one', method: 'go' }),
    })
    if (response.status !== 200) throw new Error(`isolation ${isolation}: ${await response.text()}`)
    // strace lets a signal pass to whom it traces, and ends with it
    process.kill(Number(/^(\d+)/.exec(readFileSync(trace, 'utf8'))[1]), 'SIGTERM')
    await ended
    return new Set(
      [...readFileSync(trace, 'utf8').matchAll(/^\d+ +(?:<\.\.\. )?([a-z]\w*)[( ]/gm)].map(
        ([, name]) => name,
      ),
    )
  } finally {
    child.kill()
    rmSync(dir, { recursive: true, force: true })
  }
}
