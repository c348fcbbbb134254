import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** True where Mosquitto is installed. */
export function hasMosquitto() {
  return spawnSync('mosquitto', ['-h'], { stdio: 'ignore' }).error === undefined
}

/**
 * Starts Mosquitto over a folder, on a port of 127.0.0.1; sessions outlive a restart by SIGTERM.
 *
 * @returns { port, restart(downMs), end() }
 */
export async function startBroker(dir, port, settings = []) {
  const store = path.join(dir, 'mosquitto')
  mkdirSync(store, { recursive: true })
  chmodSync(dir, 0o755) // started as root, the broker becomes another user
  chmodSync(store, 0o777)
  const config = path.join(dir, 'mosquitto.conf')
  writeFileSync(
    config,
    [
      ...[
        'persistence true',
        `persistence_location ${store}/`,
        'autosave_interval 1',
        'max_queued_messages 0',
      ],
      ...[`listener ${port} 127.0.0.1`, 'allow_anonymous true', ...settings, ''],
    ].join('\n'),
  )
  let child = await run(config, port)
  const end = async () => {
    child.kill('SIGTERM')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  return {
    port,
    end,
    async restart(downMs = 0) {
      await end()
      await sleep(downMs)
      child = await run(config, port)
    },
  }
}

async function run(config, port) {
  const child = spawn('mosquitto', ['-c', config], { stdio: ['ignore', 'ignore', 'ignore'] })
  const killAtExit = () => child.kill('SIGKILL')
  process.once('exit', killAtExit)
  child.once('exit', () => process.off('exit', killAtExit))
  for (let tries = 0; tries < 1000; tries++) {
    if (child.exitCode !== null) throw new Error(`mosquitto ended with ${child.exitCode}`)
    if (await isOpen(port)) return child
    await sleep(10)
  }
  throw new Error('mosquitto does not listen')
}

function isOpen(port) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true) || socket.destroy()).once('error', () => resolve(false))
  })
}
