// Above the plan that is folded by site: every subtask in one table, to filter and to sort.
// Names come from files of any origin, so they are only ever text.
(() => {
  const { columns, subtasks } = JSON.parse(document.getElementById("plan-data").textContent);
  const { compare } = new Intl.Collator("en", { numeric: true });
  // What is empty stays behind.
  const natural = (a, b, way) => (a === "") - (b === "") || way * compare(a, b);
  const make = (tag, properties, ...children) => {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  };

  const body = make("tbody", {});
  const rows = subtasks.map((cells, order) => ({
    cells,
    order,
    words: cells.join(" ").toLowerCase(),
    element: make("tr", {}, ...cells.map((text, i) =>
      i ? make("td", {}, text) : make("th", { scope: "row" }, text))),
  }));
  body.append(...rows.map(row => row.element));

  const input = make("input", { type: "search", spellcheck: false, autocomplete: "off" });
  const found = make("output", {});
  const filter = () => {
    const asked = input.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      row.element.hidden = !asked.every(word => row.words.includes(word));
      shown += !row.element.hidden;
    }
    found.textContent = `${shown} of ${rows.length} subtasks`;
  };
  input.addEventListener("input", filter);

  const heads = columns.map((title, i) => {
    const button = make("button", { type: "button" }, title);
    const head = make("th", { scope: "col" }, button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const way = down ? -1 : 1;
      // What is equal stays in the order of the job; subtasks themselves are in it.
      const sorted = [...rows].sort((a, b) =>
        (i ? natural(a.cells[i], b.cells[i], way) : 0) || way * (a.order - b.order));
      body.append(...sorted.map(row => row.element));
    });
    return head;
  });
  heads[0].setAttribute("aria-sort", "ascending");

  const caption = "Every subtask and its TaskManager";
  const table = make("table", {},
    make("caption", {}, make("span", {}, caption)),
    make("thead", {}, make("tr", {}, ...heads)), body);
  const scroll = make("div", { className: "scroll", tabIndex: 0 }, table);
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", caption);
  const label = make("label", {}, "Filter by operator, subtask, site, TaskManager, … ", input);
  filter();
  document.querySelector("#plan h2").after(
    make("div", { className: "finder" }, make("p", {}, label, " ", found), scroll));
})();
