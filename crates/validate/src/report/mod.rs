//! One self-contained page: the verdict first, then tables and figures whose data can be downloaded.
