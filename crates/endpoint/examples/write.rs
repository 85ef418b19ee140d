//! Two endpoints, one write.

use xoff_endpoint::{Access, Bytes, DeviceSettings, Endpoint};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let near = Endpoint::open(DeviceSettings::new([127, 94, 0, 1]))?;
    let far = Endpoint::open(DeviceSettings::new([127, 94, 0, 2]))?;
    let source = near.register(b"over the wire".to_vec(), Access::ALL).wait()?;
    let target = far.register(vec![0; 13], Access::ALL).wait()?;
    let (ours, theirs) = (near.connection().wait()?, far.connection().wait()?);
    ours.connect(theirs.introduction(), 1024).wait()?;
    theirs.connect(ours.introduction(), 1024).wait()?;
    let done = ours.write(source.all(), target.remote(Bytes::ZERO)).wait()?;
    let bytes = target.bytes().wait()?;
    println!("{:?}: {}", done.status, String::from_utf8_lossy(&bytes));
    Ok(())
}
