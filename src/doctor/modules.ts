import { existsSync } from 'node:fs'
import { messageOf } from '../errors.js'
import { createModuleCatalog, type ListedModule, type ModuleCatalog } from '../modules/catalog.js'
import { error, type Finding, ok, type Patient } from './finding.js'

/** Modules that `dataproc` could run: their definitions, and the programs that those name. */
export async function checkModules({ layout, config }: Patient): Promise<Finding[]> {
  const { backend, modulesDir = layout.modulesDir } = config.dataproc
  if (backend !== 'embedded') return [ok('dataproc requests go to the backend of the settings')]
  if (!existsSync(modulesDir)) return [ok('there is no folder of modules')]
  // runs are not looked at, so where they lie does not matter
  const elsewhere = { runsDir: '', sessionsDir: '', applicationsDir: '', logsDir: '' }
  const catalog = createModuleCatalog({ modulesDir, ...elsewhere })
  const modules = await catalog.list()
  if (modules.length === 0) return [ok('no module is installed')]
  const findings: Finding[] = []
  for (const module of modules) findings.push(await lookAt(module, catalog, modulesDir))
  return findings
}

async function lookAt(module: ListedModule, catalog: ModuleCatalog, dir: string): Promise<Finding> {
  const { name, scripts, faults = [] } = module
  const [fault] = faults
  const advice = `mend it in ${dir}/${name}, or remove that folder`
  if (fault !== undefined)
    return error(`the module ${name} cannot be run: ${fault.path} ${fault.message}`, advice)
  try {
    for (const script of Object.values(scripts)) await catalog.scriptFile(name, script)
    return ok(`${name}: ${Object.keys(scripts).length} scripts`)
  } catch (thrown) {
    return error(`the module ${name} cannot be run: ${messageOf(thrown)}`, advice)
  }
}
