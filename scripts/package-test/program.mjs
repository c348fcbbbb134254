// One way to run the gateway: as plain files, or as an executable, here or under qemu.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'

const LIBRARIES = '/usr/aarch64-linux-gnu'
const QEMU = 'qemu-aarch64-static'

/** @returns undefined with the reason printed where this machine cannot run it */
export function programOf(kind, folder) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  if (kind === 'plain') return plainFiles(folder)
  const file = path.resolve('build', `fieldgate-${version}-${kind}`)
  if (!existsSync(file))
    throw new Error(`${file} does not exist: run npm run build:binary -- --target ${kind}`)
  if (kind === `linux-${process.arch}`) return createProgram(kind, [file], {}, 1)
  if (kind !== 'linux-arm64') throw new Error(`${kind} cannot run on ${process.arch}`)
  if (spawnSync(QEMU, ['--version']).status !== 0 || !existsSync(LIBRARIES)) {
    console.log('skipped linux-arm64: qemu-user-static or libc6-arm64-cross is not installed')
    return undefined
  }
  return createProgram(kind, [QEMU, file], { QEMU_LD_PREFIX: LIBRARIES }, 15)
}

/** A copy of what the build wrote. */
function plainFiles(folder) {
  const place = path.join(folder, 'plain files')
  mkdirSync(place, { recursive: true })
  cpSync('dist', place, { recursive: true })
  return createProgram('plain', [process.execPath, path.join(place, 'fieldgate.cjs')], {}, 1)
}

/** @param patience how many times longer everything may take */
function createProgram(kind, command, env, patience) {
  const bareEnv = { PATH: process.env.PATH, FIELDGATE_LOG__LEVEL: 'warn', ...env }
  return {
    kind,
    command,
    patience,
    env: bareEnv,
    /** runs a verb to its end; throws unless it ended with 0 */
    run(argv, { allowed = [0], env: more = {} } = {}) {
      const [file, ...first] = command
      const { status, stdout, stderr } = spawnSync(file, [...first, ...argv], {
        encoding: 'utf8',
        env: { ...bareEnv, ...more },
        timeout: 120_000 * patience,
      })
      if (!allowed.includes(status))
        throw new Error(`${kind} ${argv.join(' ')}: ended with ${status}: ${stderr}`)
      return { status, stdout, stderr }
    },
    json(argv) {
      return JSON.parse(this.run([...argv, '--json']).stdout)
    },
    /** serves until stopped, by default on a free port */
    serve: (dataDir, options) => serve(command, bareEnv, patience, dataDir, options),
  }
}

/** @returns { url, pid, stop() }; `stop` ends it by SIGTERM and throws unless it ends with 0 */
export async function serve(
  command,
  env,
  patience,
  dataDir,
  { argv = [], before = [], env: more = {} } = {},
) {
  const [file, ...first] = [...before, ...command]
  const child = spawn(file, [...first, 'serve', '--data-dir', dataDir, '--port', '0', '--json', ...argv], {
    env: { ...env, ...more },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const exited = once(child, 'exit')
  const ready = await new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`not ready in time: ${stderr}`)), 60_000 * patience)
    child.stdout.on('data', (chunk) => {
      stdout += chunk
      if (!stdout.includes('\n')) return
      clearTimeout(limit)
      resolve(JSON.parse(stdout))
    })
    void exited.then(([code]) => reject(new Error(`ended with ${code}: ${stderr}`)))
  })
  return {
    ...ready,
    pid: child.pid,
    stderr: () => stderr,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      const [code] = await exited
      if (signal === 'SIGTERM' && code !== 0) throw new Error(`stopped with ${code}: ${stderr}`)
    },
  }
}

export function removeFolder(folder) {
  rmSync(folder, { recursive: true, force: true })
}
