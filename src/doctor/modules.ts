import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { messageOf } from '../errors.js'
import { error, type Finding, ok, type Patient } from './finding.js'

/** Modules that `dataproc` could run: each folder with its definition, and the programs that it names. */
export function checkModules({ layout }: Patient): Finding[] {
  const dir = layout.modulesDir
  if (!existsSync(dir)) return [ok('there is no folder of modules')]
  const names = readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
  if (names.length === 0) return [ok('no module is installed')]
  return names.map((name) => lookAt(path.join(dir, name)))
}

function lookAt(dir: string): Finding {
  const file = path.join(dir, 'definition.json')
  const advice = `mend ${file}, or remove the folder`
  try {
    const definition = JSON.parse(readFileSync(file, 'utf8')) as {
      scripts?: Record<string, { path?: unknown }>
    }
    const scripts = Object.entries(definition.scripts ?? {})
    if (scripts.length === 0) return error(`${file} names no scripts`, advice)
    for (const [label, script] of scripts) {
      if (typeof script?.path !== 'string') return error(`${file}: scripts.${label} names no path`, advice)
      const program = path.resolve(dir, script.path)
      if (!program.startsWith(`${dir}${path.sep}`))
        return error(`${file}: scripts.${label}.path leads out of the module`, advice)
      accessSync(program, constants.X_OK)
    }
    return ok(`${path.basename(dir)}: ${scripts.length} scripts`)
  } catch (thrown) {
    return error(`${file}: ${messageOf(thrown)}`, `${advice}; programs need the right to be run (chmod +x)`)
  }
}
