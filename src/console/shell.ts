import { appearance } from './appearance.js'
import { fill, h } from './core/dom.js'
import { t, type Word } from './core/i18n.js'
import type { Page, PageMaker } from './core/page.js'
import { button, notFound } from './core/parts.js'
import { call } from './core/rpc.js'
import { session, signedOut } from './core/session.js'
import { dropTarget } from './import/drop.js'
import { apiPage } from './pages/api.js'
import { datasetsPage } from './pages/datasets.js'
import { fleetPage } from './pages/fleet.js'
import { healthPage } from './pages/health.js'
import { helpPage } from './pages/help.js'
import { homePage } from './pages/home.js'
import { importPage } from './pages/import.js'
import { mapPage } from './pages/map.js'
import { modelsPage } from './pages/models.js'
import { modulesPage } from './pages/modules.js'
import { outboxPage } from './pages/outbox.js'
import { sessionsPage } from './pages/sessions.js'
import { tablesPage } from './pages/tables.js'

/** Pages by the first part of the address, as in `#/tables/rain`. */
const PAGES: Record<string, { word: Word; make: PageMaker }> = {
  home: { word: 'navHome', make: homePage },
  map: { word: 'navMap', make: mapPage },
  tables: { word: 'navTables', make: tablesPage },
  import: { word: 'navImport', make: importPage },
  datasets: { word: 'navDatasets', make: datasetsPage },
  models: { word: 'navModels', make: modelsPage },
  modules: { word: 'navModules', make: modulesPage },
  outbox: { word: 'navOutbox', make: outboxPage },
  fleet: { word: 'navFleet', make: fleetPage },
  sessions: { word: 'navSessions', make: sessionsPage },
  health: { word: 'navHealth', make: healthPage },
  api: { word: 'navApi', make: apiPage },
  help: { word: 'navHelp', make: helpPage },
}

/** Frame of all pages: the navigation, and the page of the current address. */
export function shell() {
  const links = Object.entries(PAGES).map(([path, { word }]) => h('a', { href: `#/${path}` }, t(word)))
  const main = h('main', { id: 'main', tabindex: -1 })
  const { side, menu, setOpen } = navigation(links)
  let page: Page | undefined
  const show = (focus: boolean) => {
    page?.close?.()
    setOpen(false)
    const [first = 'home', ...rest] = addressParts()
    const entry = PAGES[first]
    markCurrent(links, first)
    page = entry?.make(rest)
    document.title = `${page?.title ?? t('notFoundPage')} · Fieldgate`
    main.className = first === 'map' ? 'map-page' : 'page'
    fill(main, page?.element ?? notFoundPage())
    if (first === 'map' && page !== undefined) main.replaceChildren(...page.element.children)
    if (focus) main.focus()
  }
  const onhashchange = () => show(true)
  window.addEventListener('hashchange', onhashchange)
  show(false)
  const endDrops = dropTarget()
  const skip = () => main.focus()
  return {
    element: h(
      'div',
      { class: 'shell' },
      button(t('skip'), skip, 'skip'),
      h('header', { class: 'top' }, h('div', { class: 'brand' }, 'Fieldgate'), menu),
      side,
      main,
    ),
    focus: () => undefined,
    close() {
      window.removeEventListener('hashchange', onhashchange)
      page?.close?.()
      endDrops()
    },
  }
}

/** Side bar with the links to the pages, and the button that opens it on a small screen. It is closed at first. */
function navigation(links: readonly HTMLElement[]) {
  const side = h(
    'aside',
    { class: 'side', id: 'side', 'aria-label': t('mainMenu') },
    h('div', { class: 'brand' }, 'Fieldgate'),
    h('nav', { class: 'nav', 'aria-label': t('mainMenu') }, links),
    h('div', { class: 'foot' }, appearance(), button(t('signOut'), signOut, 'small')),
  )
  const menu = button(t('menu'), () => setOpen(!side.classList.contains('open')), 'small')
  menu.setAttribute('aria-controls', 'side')
  const setOpen = (isOpen: boolean) => {
    side.classList.toggle('open', isOpen)
    menu.setAttribute('aria-expanded', String(isOpen))
  }
  setOpen(false)
  return { side, menu, setOpen }
}

function notFoundPage(): HTMLElement[] {
  return [h('h1', {}, t('notFoundPage')), notFound(t('notFoundHint'), '#/home', t('navHome'))]
}

/** Marks the link to the page of an address in the navigation. */
function markCurrent(links: readonly HTMLElement[], path: string): void {
  for (const link of links) {
    if (link.getAttribute('href') === `#/${path}`) link.setAttribute('aria-current', 'page')
    else link.removeAttribute('aria-current')
  }
}

function addressParts(): string[] {
  return location.hash
    .replace(/\?.*$/, '')
    .replace(/^#\/?/, '')
    .replace(/\?.*$/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent)
}

/** Closes the session at the gateway, and signs out here even if that fails. */
async function signOut(): Promise<void> {
  const open = session()
  try {
    if (open !== undefined) await call('session.close_session', { token: open.token })
  } finally {
    signedOut('signed-out')
  }
}
