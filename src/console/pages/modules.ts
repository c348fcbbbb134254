import { fill, h } from '../core/dom.js'
import { t } from '../core/i18n.js'
import { type Page, repeat } from '../core/page.js'
import { faultNotice, statusLine, table, waitingBox } from '../core/parts.js'
import { newTrigger } from '../modules/new-trigger.js'
import { type ModuleInfo, readModules } from '../modules/read.js'
import { triggerList } from '../modules/triggers.js'

const EVERY_MS = 2000

/** Page of modules and of the triggers that run them. What changes is refreshed every two seconds. */
export function modulesPage(): Page {
  const status = statusLine()
  const triggers = triggerList(status)
  const installed = waitingBox()
  const form = h('div', { class: 'stack' })
  const showModules = async () => {
    try {
      const modules = await readModules()
      fill(installed, moduleTable(modules))
      const usable = modules.filter(({ faults }) => faults === undefined)
      fill(form, usable.length > 0 && newTrigger(usable, triggers.refresh))
    } catch (error) {
      fill(installed, faultNotice(error, showModules))
    }
  }
  void showModules()
  const element = h(
    'div',
    { class: 'stack' },
    h('h1', {}, t('navModules')),
    h('p', { class: 'soft' }, t('modulesIntro')),
    h('h2', {}, t('triggers')),
    status.element,
    triggers.element,
    form,
    h('h2', {}, t('navModules')),
    installed,
  )
  return { title: t('navModules'), element, close: repeat(EVERY_MS, triggers.refresh) }
}

function moduleTable(modules: readonly ModuleInfo[]): HTMLElement {
  return table(
    t('navModules'),
    [t('moduleWord'), t('methodsWord')],
    modules.map(({ name, scripts = {}, faults }) => [
      name,
      faults === undefined
        ? Object.keys(scripts).join(', ')
        : t('moduleFaults', { faults: faults.map(({ path, message }) => `${path}: ${message}`).join('; ') }),
    ]),
    t('modulesNone'),
  )
}
